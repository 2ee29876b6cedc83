"""
Nobody to trust: local collection
=================================

Each device randomizes its own answer, so the server never sees a true one. That costs accuracy;
more people make up for it (:doc:`/docs/local`).
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.cycle_graph(100), weight=None)
coins = np.random.default_rng(6)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, layout="constrained")
for axes, users in zip(panels, (2_000, 200_000)):
    places = np.where(
        coins.random(users) < 0.6, coins.normal(25, 5, users), coins.normal(75, 3, users)
    )
    places = places.round().astype(int) % 100
    pub = mdp.local.public_parameters(metric, epsilon=1, users=users, k=2)
    messages = mdp.local.simulated_messages(pub, places.tolist())
    estimate = mdp.local.Decoder(pub).fit(messages)
    centers = estimate.k_median(metric=metric, k=2).centers
    axes.bar(range(100), np.bincount(places, minlength=100), color="lightgray", label="private")
    axes.plot(estimate.release(metric).weights, color="#0072B2", label="estimated")
    for center in centers:
        axes.axvline(center, color="#D55E00", linestyle="--")
    axes.set_title(f"{users:,} devices, {pub.message_bytes} bytes each")
    axes.set_xlabel("place")
panels[0].legend()
plt.show()
