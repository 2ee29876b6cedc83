"""A QGIS plugin with one Processing provider: metricdp, run in an environment of its own."""


def classFactory(iface):
    """Return the plugin."""
    from .plugin import Plugin

    return Plugin()
