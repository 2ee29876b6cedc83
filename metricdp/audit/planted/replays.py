"""What shows only where outputs are those of honest demand, and demand is more than a handful."""

from metricdp.audit.planted.mutating import Mutation

GRID = "replay, k_median, partition, a grid, record, add-remove"
SEARCH = "replay, k_median, local-search, a grid, record, add-remove"
BOX = "replay, k_median, quadtree, a box, record, add-remove"
RELEASE = "replay, release, a grid, record, add-remove"
VAULT = '__import__("metricdp.privacy._vault", fromlist=["x"])._open(demand)'

TABLE = (
    (
        "large counts kept exact",
        "Noise is drawn, paid for and forgotten where ten records or more are: their exact counts "
        "become the weights of the release.",
        (GRID, RELEASE),
        Mutation(
            "privacy.gate:_noisy",
            "return noise(answer) if noise else answer",
            "noisy = noise(answer) if noise else answer\n"
            "    return np.where(answer > 9, answer, noisy)",
        ),
    ),
    (
        "a rebate for many records",
        "The price of counts follows the number of records: whoever reads the ledger knows on "
        "which side of two dozen the demand is.",
        (GRID,),
        Mutation(
            "privacy.gate:measure",
            "    grant.draw(cost)\n",
            f"    less = Cost.of(cost.epsilon * Fraction(9, 10))\n"
            f"    grant.draw(cost if len({VAULT}) < 24 else less)\n",
        ),
    ),
    (
        "the better of two selections",
        "Two selections are drawn for the price of one where there are two dozen records, and the "
        "one of the higher exact score is taken.",
        (SEARCH,),
        Mutation(
            "privacy.gate:_selected",
            "        return choose(_within(blocks, low, high), eta, law)",
            "        scores = [np.concatenate(list(_within(blocks, low, high)))]\n"
            "        times = 1 if len(records) < 24 else 2\n"
            "        drawn = [choose(scores, eta, law) for _ in range(times)]\n"
            "        return max(drawn, key=scores[0].item)",
        ),
    ),
    (
        "small counts not published",
        "Noisy counts of parts where fewer than four records are, of two dozen and more, are "
        "marked as missing after they were drawn: disclosure control by the exact count.",
        (GRID, RELEASE),
        Mutation(
            "privacy.gate:_noisy",
            "return noise(answer) if noise else answer",
            "noisy = noise(answer) if noise else answer\n"
            "    many = answer.sum() >= 20\n"
            "    return np.where(many & (answer < 4), -999, noisy)",
        ),
    ),
    (
        "noise by the size of the answer",
        "Answers above a dozen get half the noise that was paid for: relative errors look better.",
        (GRID,),
        Mutation(
            "privacy.gate:_noisy",
            "return noise(answer) if noise else answer",
            "if noise and answer.max(initial=0) > 9:\n"
            "        noise = type(noise)(1, noise.cost.epsilon * 2)\n"
            "    return noise(answer) if noise else answer",
        ),
    ),
)
