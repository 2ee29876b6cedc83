"""Cluster, Ask, Evaluate, Plan and Explore as Processing algorithms: parameters, and commands."""

from qgis.core import (
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingException,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFile,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterMultipleLayers,
    QgsProcessingParameterNumber,
    QgsProcessingParameterString,
    QgsProcessingParameterVectorLayer,
    QgsRasterLayer,
    QgsVectorLayer,
)

from . import commands


def text(name, label, default="", optional=True, advanced=False):
    """A parameter of text."""
    made = QgsProcessingParameterString(name, label, defaultValue=default, optional=optional)
    if advanced:
        made.setFlags(made.flags() | QgsProcessingParameterDefinition.FlagAdvanced)
    return made


def file(name, label, optional=True):
    """A file that is read."""
    return QgsProcessingParameterFile(name, label, optional=optional)


POINTS = {"DEMAND_POINTS": "DEMAND", "CENTERS_POINTS": "CENTERS"}
"""Layers of points, and the parameter of a file in the place of each."""


class Algorithm(QgsProcessingAlgorithm):
    """What all have in common: a network, and a program that is run."""

    command, called, title, shown, help_text = "", "", "", (), ""

    def createInstance(self):
        """Another one."""
        return type(self)()

    def name(self):
        """Of the algorithm."""
        return self.called or self.command

    def displayName(self):
        """As it is shown."""
        return self.title

    def group(self):
        """None."""
        return ""

    def groupId(self):
        """None."""
        return ""

    def shortHelpString(self):
        """What it does and what it costs."""
        return self.help_text

    def initAlgorithm(self, config=None):
        """Parameters of the network, of the demand, and of this algorithm."""
        lines = [QgsProcessing.TypeVectorLine]
        network = "Public network (lines)"
        self.addParameter(
            QgsProcessingParameterVectorLayer("NETWORK", network, lines, optional=True)
        )
        self.addParameter(file("NETWORK_FILE", "or a network file (GraphML, CSV, …)"))
        self.addParameter(file("NODES", "Coordinates of its vertices, for tables of edges"))
        self.addParameter(text("WEIGHT", "Column of lengths"))
        for name, label in (
            ("SYMMETRIZE", "Use one-way edges both ways"),
            ("LARGEST_COMPONENT", "Keep the largest component"),
        ):
            self.addParameter(QgsProcessingParameterBoolean(name, label, defaultValue=True))
        for one in self.own():
            self.addParameter(one)
        self.addParameter(text("PROGRAM", "The program metricdp", advanced=True))

    def own(self):
        """Parameters of this algorithm."""
        return []

    def values(self, parameters, context):
        """What was filled in, by parameter."""
        found = {}
        for one in self.parameterDefinitions():
            name, kind = one.name(), one.type()
            if name in ("NETWORK", "NETWORK_FILE", "PROGRAM", *POINTS):
                continue
            if kind == "boolean":
                found[name] = self.parameterAsBool(parameters, name, context)
            elif kind == "fileDestination":
                found[name] = self.parameterAsFileOutput(parameters, name, context)
            elif kind == "file":
                found[name] = self.parameterAsFile(parameters, name, context)
            elif kind == "enum":
                found[name] = self.parameterAsEnumString(parameters, name, context)
            elif kind == "multilayer":
                files = self.parameterAsFileList(parameters, name, context)
                found[name] = [path for each in files for path in each.split(";")]
            elif kind == "number":
                found[name] = self.parameterAsInt(parameters, name, context)
            else:
                found[name] = self.parameterAsString(parameters, name, context)
        for points, name in POINTS.items():
            if self.parameterDefinition(points) is not None:
                layer = self.parameterAsVectorLayer(parameters, points, context)
                if layer is not None:
                    path, within = commands.source_of(layer.source())
                    found |= {name: path, f"{name}_LAYER": within}
        if self.command == "evaluate" and not found.get("CENTERS"):
            raise commands.Failed("give sites: a layer of points, or a file")
        return commands.asked(found)

    def network(self, parameters, context):
        """The network's file and layer."""
        layer = self.parameterAsVectorLayer(parameters, "NETWORK", context)
        if layer is not None:
            return commands.source_of(layer.source())
        path = self.parameterAsFile(parameters, "NETWORK_FILE", context)
        if not path:
            raise commands.Failed("give a network: a layer of lines, or a file")
        return path, ""

    def processAlgorithm(self, parameters, context, feedback):
        """Run the command."""
        try:
            setting = self.parameterAsString(parameters, "PROGRAM", context)
            path, layer = self.network(parameters, context)
            values = {"NETWORK_LAYER": layer} | self.values(parameters, context)
            ask = commands.command(commands.program(setting), self.command, path, values)
            feedback.pushCommandInfo(" ".join(ask))
            said = commands.run(ask, feedback.pushInfo, feedback.isCanceled)
        except commands.Failed as error:
            raise QgsProcessingException(str(error)) from None
        feedback.pushInfo(said)
        self.finished(values, context)
        return {name: values[name] for name in self.shown if values.get(name)} | {"RESULT": said}

    def finished(self, values, context):
        """Show what was written."""


def private():
    """Parameters of the private demand and its price."""
    points = [QgsProcessing.TypeVectorPoint]
    return [
        QgsProcessingParameterVectorLayer(
            "DEMAND_POINTS", "Private demand (points)", points, optional=True
        ),
        file("DEMAND", "or a demand file (CSV, Parquet, …)"),
        text("USER", "Column of whose record it is: protects persons"),
        text("MAX_CONTRIBUTIONS", "Records kept of each person", advanced=True),
        text("MAX_SNAP", "Leave out records farther than this from the network: 500m, 2km"),
        text("LEDGER", "Ledger (a file that adds up what is spent)"),
        text("EPSILON_BUDGET", "Budget of a new ledger", advanced=True),
        text("PURPOSE", "Purpose, noted in the ledger", advanced=True),
    ]


def whole(name, label, default):
    """A whole number from 1."""
    return QgsProcessingParameterNumber(
        name, label, QgsProcessingParameterNumber.Integer, default, minValue=1
    )


def question():
    """Parameters of what is asked, and of what is shown."""
    return [
        whole("K", "Number of sites", 10),
        QgsProcessingParameterEnum(
            "OBJECTIVE",
            "What makes sites good",
            ["k-median", "k-means", "p-center", "max-coverage"],
            defaultValue="k-median",
            usesStaticStrings=True,
        ),
        text("LIMIT", "Distance that counts as covered: 900, 500 m, 10 min"),
        text("KS", "Stages, in place of a number of sites: 5,10,20"),
        text("BANDS", "Service bands: distances such as 500,1000"),
        QgsProcessingParameterBoolean(
            "STABILITY", "Tell how firmly each site stands", defaultValue=False
        ),
        written("HEATMAP", "Heat map", "GeoPackage (*.gpkg);;GeoTIFF (*.tif);;HTML (*.html)"),
        written("MAP", "Page", "HTML (*.html)"),
        QgsProcessingParameterFileDestination("OUTPUT", "Plan", "GeoPackage (*.gpkg)"),
    ]


def written(name, label, kinds):
    """A file that is written if it is named."""
    return QgsProcessingParameterFileDestination(
        name, label, kinds, optional=True, createByDefault=False
    )


class Cluster(Algorithm):
    """``metricdp cluster``."""

    command, title = "cluster", "Cluster private demand"
    shown = ("OUTPUT", "SAVE_RELEASE", "HEATMAP", "MAP")
    help_text = (
        "k sites for private locations on a public network, under differential privacy: a "
        "GeoPackage with sites, territories, lines and noisy demand; stages, service bands, how "
        "firmly each site stands, and a heat map no finer than its noise allows. Without demand, "
        "for the network itself. Each run spends epsilon of the ledger; what cannot be done is "
        "refused before. A saved release answers any number of further questions, free."
    )

    def own(self):
        """Demand, price, and the plan."""
        return [
            *private(),
            text("EPSILON", "Epsilon: what this run may spend, such as 0.5 or 1/3"),
            written("SAVE_RELEASE", "Release, for further questions", "Release (*.release)"),
            *question(),
        ]

    def finished(self, values, context):
        """Load the layers, which come with their styles, the sites on top."""
        heat = values.get("HEATMAP") or ""
        if heat.endswith(".tif"):
            load(QgsRasterLayer(heat, "heat"), "HEATMAP", context)
        elif heat.endswith(".gpkg"):
            for name in ("heat", "heat_streets"):
                load(QgsVectorLayer(f"{heat}|layername={name}", name, "ogr"), "HEATMAP", context)
        below = ("territories", "streets", "bands", "band_streets")
        for name in (*below, "demand", "spider", "sites"):
            uri = f"{values['OUTPUT']}|layername={name}"
            load(QgsVectorLayer(uri, name, "ogr"), "OUTPUT", context)


def load(layer, output, context):
    """Show a layer when the algorithm is done, if there is one."""
    project = context.project()
    if layer.isValid() and project is not None:
        context.temporaryLayerStore().addMapLayer(layer)
        details = context.LayerDetails(layer.name(), project, output)
        context.addLayerToLoadOnCompletion(layer.id(), details)


class Ask(Cluster):
    """``metricdp cluster --from-release``."""

    called, title = "ask", "Ask releases: other sites, common sites, maps (free)"
    help_text = (
        "Other sites, stages, bands, stability and heat maps from a release that is paid for: "
        "free. Of several releases, such as times of day, one set of sites that serves all: their "
        "mean, the worst, or by weights such as 5,1,1. Where each has its own travel times, name "
        "a column of lengths for each: am,pm."
    )

    def own(self):
        """Releases, and the plan."""
        return [
            QgsProcessingParameterMultipleLayers(
                "RELEASES", "Releases (files)", QgsProcessing.TypeFile
            ),
            text("SCENARIOS", "Of several: mean, worst, or weights", "mean"),
            *question(),
        ]


class Evaluate(Algorithm):
    """``metricdp evaluate``."""

    command, title = "evaluate", "Evaluate sites for private demand"
    help_text = (
        "How well sites serve private demand: mean distance, shares within distances and loads, "
        "each with an interval, at the price of epsilon."
    )

    def own(self):
        """Demand, price, and the sites."""
        return [
            QgsProcessingParameterVectorLayer(
                "CENTERS_POINTS",
                "Sites (points; the layer sites of a plan)",
                [QgsProcessing.TypeVectorPoint],
                optional=True,
            ),
            file("CENTERS", "or a file of sites (JSON, a plan, a table)"),
            *private(),
            text("EPSILON", "Epsilon of this evaluation", "0.1", optional=False),
            text("WITHIN", "Distances of interest, such as 500,1000"),
        ]


class Plan(Algorithm):
    """``metricdp plan``."""

    command, title = "plan", "Plan the privacy budget"
    help_text = "What each epsilon would cost in accuracy, from public information alone: free."

    def own(self):
        """Size and number."""
        return [
            whole("RECORDS", "Number of records, roughly", 5000),
            whole("K", "Number of sites", 10),
        ]


class Explore(Algorithm):
    """``metricdp explore``."""

    command, title, shown = "explore", "Explore privacy levels", ("OUTPUT",)
    help_text = (
        "Several privacy levels on one page with a slider; the levels are charged together, their "
        "sum."
    )

    def own(self):
        """Demand, price, and the page."""
        return [
            whole("K", "Number of sites", 10),
            *private(),
            text("EPSILONS", "Levels", "0.1,0.5,1", optional=False),
            QgsProcessingParameterFileDestination("OUTPUT", "Page", "HTML (*.html)"),
        ]
