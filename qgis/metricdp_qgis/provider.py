"""The provider: which algorithms there are."""

from qgis.core import QgsProcessingProvider

from .algorithms import Ask, Cluster, Evaluate, Explore, Plan


class Provider(QgsProcessingProvider):
    """Algorithms of metricdp."""

    def loadAlgorithms(self):
        """Add all."""
        for kind in (Cluster, Ask, Evaluate, Plan, Explore):
            self.addAlgorithm(kind())

    def id(self):
        """Of the provider, in lower case."""
        return "metricdp"

    def name(self):
        """As it is shown."""
        return "metricdp"

    def longName(self):
        """With what it is about."""
        return "metricdp: private clustering on public networks"
