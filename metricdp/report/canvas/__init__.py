"""The drawing that all pages share: a public universe on a canvas, what was released on it, its
centers, and the controls.
"""
