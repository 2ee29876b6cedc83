"""The plugin: it adds the provider, and that is all."""

from qgis.core import QgsApplication

from .provider import Provider


class Plugin:
    """What QGIS loads; `initProcessing` is what ``qgis_process`` calls."""

    def __init__(self):
        self.provider = None

    def initProcessing(self):
        """Register the algorithms."""
        self.provider = Provider()
        QgsApplication.processingRegistry().addProvider(self.provider)

    def initGui(self):
        """The same, with a window."""
        self.initProcessing()

    def unload(self):
        """Take them away again."""
        if self.provider is not None:
            QgsApplication.processingRegistry().removeProvider(self.provider)
            self.provider = None
