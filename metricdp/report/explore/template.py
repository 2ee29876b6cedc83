"""The explore page's HTML and style. Placeholders are ``@@NAME@@``; the caller escapes what it puts
there.

The page's own content security policy forbids every network request, so it shows the same offline
and online. The map's library waits, compressed, until the first picture is drawn.
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
 style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="metricdp">
<link rel="icon" href="data:,">
<title>@@TITLE@@</title>
<style>@@STYLE@@</style>
</head>
<body>
@@BANNER@@
<header><h1>@@TITLE@@</h1></header>
<form id="choose" onsubmit="return false">
<label for="level">Privacy</label>
<div id="rail"><input id="level" type="range" min="0" max="@@LAST@@" step="1" value="@@START@@" aria-describedby="charged">
<div id="ticks" class="@@CROWD@@" aria-hidden="true">@@TICKS@@</div></div>
<output id="chosen" for="level" aria-live="polite"></output>
</form>
<main>
<div id="stage" tabindex="0" aria-label="Map. Arrow keys move it, plus and minus zoom, 0 shows the whole.">
<canvas id="ground" aria-hidden="true"></canvas>
<div id="map" role="img" aria-label="Map: @@TITLE@@"></div>
<details id="layers" open><summary>Layers</summary>@@LAYERS@@</details>
<div id="scale" hidden><span></span><b></b></div>
<div id="tip" hidden></div>
<p id="problem" class="note" hidden></p>
<noscript><p class="note">The map needs JavaScript; everything it uses is in this file.</p></noscript>
</div>
<aside>
<section id="now"><h2>This level</h2><dl></dl></section>
@@ACCURACY@@
<section><h2>Centers</h2><table><thead><tr><th>Center</th><th>@@NOUN@@</th><th>@@MASS@@</th></tr></thead>
<tbody id="centers"></tbody></table></section>
@@RECEIPT@@
@@NOTES@@
</aside>
</main>
<script type="application/json" id="map-data">@@DATA@@</script>
<script type="text/plain" id="library">@@LIBRARY@@</script>
<script>@@SCRIPT@@</script>
</body>
</html>
"""

STYLE = """
#banner { background: #8f1d1d; color: #fff; padding: 10px 18px; font-weight: 600; }
#banner.calm { background: #2f5f8f; }
#choose { display: flex; align-items: flex-start; gap: 14px; padding: 10px 18px 8px; border-bottom: 1px solid var(--line);
  background: #fff; margin: 0; }
#choose label { font-weight: 650; line-height: 24px; }
#rail { flex: 1; min-width: 0; max-width: 620px; }
#level { width: 100%; margin: 0; height: 24px; accent-color: #22262b; cursor: pointer; display: block; }
#level:focus-visible, #stage:focus-visible { outline: 3px solid #2f6db5; outline-offset: -3px; }
#ticks { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; line-height: 1.25; }
#ticks span { cursor: pointer; width: 96px; text-align: center; }
#ticks span:first-child { text-align: left; }
#ticks span:last-child { text-align: right; }
#ticks span.on { color: var(--ink); font-weight: 650; }
#chosen { min-width: 190px; line-height: 24px; font-weight: 650; }
#chosen small { display: block; font-weight: 400; color: var(--soft); line-height: 1.25; font-size: 12px; }
#ground { position: absolute; inset: 0; width: 100%; height: 100%; }
#problem { position: relative; z-index: 9; background: #fff; }
.key.coreset { width: 12px !important; margin: 0 2px; border-radius: 50%;
  background: radial-gradient(#22262b 58%, transparent 62%); }
#layers[open] summary { margin-bottom: 2px; }
.key.exact { width: 11px !important; height: 11px !important; margin: 0 3px; background: #fff; border: 2.5px solid #c01818;
  transform: rotate(45deg); }
#layers { color: var(--ink); margin: 0; }
#layers summary { font-weight: 650; font-size: 13px; line-height: 22px; }
.accuracy td:first-child { white-space: nowrap; overflow-wrap: normal; }
.accuracy td div { position: relative; height: 5px; margin: 3px 0 2px; }
.accuracy td i { all: unset; position: absolute; left: 0; top: 0; height: 5px; min-width: 2px; border-radius: 3px;
  background: #c9c5ba; }
.accuracy td i.half { background: #44505c; }
.accuracy tr:not([data-level]) { color: var(--soft); cursor: default; }
.accuracy tr.on { background: #f1eee6; font-weight: 650; }
#now dl { grid-template-columns: auto 1fr; }
@media (max-width: 760px) {
  #banner { padding: 8px 14px; font-size: 13px; }
  #choose { flex-wrap: wrap; gap: 2px 12px; padding: 8px 14px; position: sticky; top: 0; z-index: 20; }
  #choose label { order: 0; }
  #chosen { order: 1; flex: 1; min-width: 0; }
  #rail { order: 2; flex-basis: 100%; max-width: none; }
  #level { height: 34px; }
  #ticks span { width: auto; max-width: 25%; font-size: 11px; }
  #ticks.many span:not(:first-child):not(:last-child) { display: none; }
  #stage { height: 58vh; height: 58svh; }
}
@media print { #choose { position: static; } }
"""
