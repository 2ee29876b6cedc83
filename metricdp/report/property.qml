<Option type="Map">
<Option type="QString" name="name" value=""/>
<Option type="Map" name="properties"><Option type="Map" name="@@NAME@@">
<Option type="bool" name="active" value="true"/>
<Option type="QString" name="expression" value=@@EXPRESSION@@/>
<Option type="int" name="type" value="3"/>
</Option></Option>
<Option type="QString" name="type" value="collection"/>
</Option>
