<labeling type="simple"><settings calloutType="simple">
<text-style fieldName="rank" fontSize="7" fontWeight="75" textColor="255,255,255,255"
 isExpression="0" fontFamily="Sans Serif" fontSizeUnit="Point" textOpacity="1"/>
<placement placement="1" quadOffset="4" centroidInside="0" dist="0"/>
<rendering displayAll="1" drawLabels="1" obstacle="0"/>
<dd_properties>@@COLOR@@</dd_properties></settings></labeling>
