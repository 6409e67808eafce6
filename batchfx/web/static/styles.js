// How the widgets look. Colours follow the page's color-scheme; a page may set
// --batchfx-accent, --batchfx-font and --batchfx-radius.

export const sheet = new CSSStyleSheet();
sheet.replaceSync(`
:host {
  --ink: light-dark(#1d2026, #eceef2);
  --soft: light-dark(#5a606b, #a5abb7);
  --line: light-dark(#e3e5ea, #343842);
  --edge: light-dark(#868d99, #7b8290);
  --paper: light-dark(#ffffff, #1b1d22);
  --tint: light-dark(#f6f7f9, #23262d);
  --accent: var(--batchfx-accent, light-dark(#3d4fc4, #a3b0ff));
  --on-accent: light-dark(#ffffff, #14161c);
  --accent-tint: light-dark(#eef0fc, #2a2f4a);
  --good: light-dark(#1d7446, #6fce97);
  --warn: light-dark(#8a5300, #edb65c);
  --warn-tint: light-dark(#fdf5e6, #352b19);
  --bad: light-dark(#b3261e, #ff9c92);
  --bad-tint: light-dark(#fdf0ef, #3a2322);
  --radius: var(--batchfx-radius, 8px);
  display: block;
  container-type: inline-size;
  color: var(--ink);
  font: 400 15px/1.5 var(--batchfx-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif);
  font-variant-numeric: tabular-nums;
  text-align: start;
}
:host([hidden]), [hidden] { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
h2 { font-size: 20px; line-height: 1.3; font-weight: 650; letter-spacing: -.01em; text-wrap: balance; }
h3, .state { font-size: 16px; line-height: 1.4; font-weight: 650; letter-spacing: 0; }
ul, ol { list-style: none; }
a { color: var(--accent); text-underline-offset: 3px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
:is(h2, h3):focus { outline: none; }
.stack:empty, .line:empty, .facts:empty, .counts:empty { display: none; }
.stack { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
.stack.wide { gap: 32px; }
.stack.near { gap: 4px; }
.line { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
.line.apart { justify-content: space-between; }
.line.end { justify-content: flex-end; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
.strong { font-weight: 600; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.card { border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.5); background: var(--paper); padding: 24px; }
.icon { width: 18px; height: 18px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }

.kind { font-weight: 400; }
.button { display: inline-flex; align-items: center; justify-content: center; gap: 8px; min-height: 40px; padding: 4px 16px; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--paper); color: var(--ink); font: inherit; font-weight: 550; line-height: 1.3; text-decoration: none; cursor: pointer; transition: background-color .15s, border-color .15s; }
.button:hover { background: var(--tint); }
.button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.button.main:hover { background: color-mix(in oklab, var(--accent) 88%, var(--ink)); }
.button.quiet { border-color: transparent; background: none; color: var(--accent); padding-inline: 8px; margin-inline: -8px; }
.button.quiet:hover { background: var(--accent-tint); }
.button.bad { color: var(--bad); }
.button.little { min-height: 32px; padding-inline: 10px; font-size: 13px; }
.button.little.quiet { padding-inline: 8px; }
.button[disabled], .button[aria-disabled=true] { opacity: .5; cursor: default; }
.button[aria-busy=true] { cursor: progress; }

input, select { min-height: 40px; width: 100%; padding: 0 12px; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--paper); color: var(--ink); font: inherit; }
select { appearance: none; padding-inline-end: 32px; text-overflow: ellipsis; background: var(--paper) linear-gradient(45deg, transparent 50%, var(--soft) 50%) 0 0/6px 6px no-repeat; background-image: linear-gradient(45deg, transparent 50%, var(--soft) 50%), linear-gradient(-45deg, transparent 50%, var(--soft) 50%); background-position: calc(100% - 18px) 55%, calc(100% - 12px) 55%; }
input[type=checkbox] { width: 18px; height: 18px; min-height: 0; margin: 0; padding: 0; accent-color: var(--accent); vertical-align: middle; }
input[type=file] { position: absolute; width: 1px; height: 1px; min-height: 0; opacity: 0; }
label, .label { display: block; font-weight: 550; font-size: 13px; margin-block-end: 4px; }
.field { min-width: 0; }

.note { display: flex; gap: 12px; padding: 12px 16px; border-radius: var(--radius); background: var(--tint); overflow-wrap: anywhere; }
.note > .icon { margin-block-start: 2px; }
.note > div { flex: 1; min-width: 0; display: grid; gap: 8px; justify-items: start; }
.note.warning { background: var(--warn-tint); } .note.warning > .icon { color: var(--warn); }
.note.error { background: var(--bad-tint); } .note.error > .icon { color: var(--bad); }
.note.good > .icon { color: var(--good); }

.drop { display: grid; justify-items: center; gap: 8px; padding: 48px 24px; border: 1.5px dashed var(--edge); border-radius: calc(var(--radius) * 1.5); background: var(--tint); text-align: center; cursor: pointer; transition: background-color .15s, border-color .15s; margin: 0; font-weight: 400; font-size: 15px; }
.drop:hover, .drop.over { border-color: var(--accent); background: var(--accent-tint); }
.drop:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.drop .icon { width: 28px; height: 28px; color: var(--accent); }

.steps { display: flex; flex-wrap: wrap; gap: 8px 24px; font-size: 13px; color: var(--soft); }
.steps li { display: flex; align-items: center; gap: 8px; }
.steps li::before { counter-increment: step; content: counter(step); display: grid; place-items: center; width: 22px; height: 22px; border-radius: 50%; border: 1px solid var(--edge); font-size: 12px; }
.steps { counter-reset: step; }
.steps [aria-current] { color: var(--ink); font-weight: 600; }
.steps [aria-current]::before { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.steps .past::before { content: "✓"; color: var(--good); border-color: currentColor; }

.bar { height: 8px; border-radius: 4px; background: var(--line); overflow: hidden; }
.bar > div { height: 100%; width: 0; border-radius: 4px; background: var(--accent); transition: width .3s ease-out; }
.bar.good > div { background: var(--good); }
.bar.idle > div { background: var(--soft); }
.counts { display: flex; flex-wrap: wrap; gap: 12px 32px; }
.counts > div { display: grid; }
.counts dt { order: 2; font-size: 13px; color: var(--soft); display: flex; align-items: center; gap: 6px; }
.counts dd { font-size: 20px; line-height: 1.3; font-weight: 600; }
.dot { width: 8px; height: 8px; border-radius: 50%; background: var(--edge); flex: none; }
.created, .updated { --dot: var(--good); } .invalid { --dot: var(--warn); } .failed, .unknown { --dot: var(--bad); }
.dot { background: var(--dot, var(--edge)); }

.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 16px; align-items: end; }
.facts:has(.field > p) { align-items: start; }
.scroll { position: relative; overflow-x: auto; border: 1px solid var(--line); border-radius: var(--radius); }
.table { width: 100%; border-collapse: collapse; font-size: 14px; }
.table th { text-align: start; font-weight: 550; }
.table thead th { font-size: 13px; color: var(--soft); background: var(--tint); white-space: nowrap; }
.table th, .table td { padding: 10px 14px; border-block-end: 1px solid var(--line); vertical-align: top; }
.table tbody tr:last-child > * { border-block-end: 0; }
.table .number { text-align: end; color: var(--soft); white-space: nowrap; }
.table.cells th.number { width: 1%; }
.table .text { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; width: max-content; max-width: 280px; overflow-wrap: anywhere; white-space: pre-wrap; }
.table .text:focus, .table td:focus > .text, .table td:focus-within > .text { display: block; max-height: 320px; overflow: auto; }
.table .text:focus-visible { outline-offset: 2px; border-radius: 2px; }
.table .name { overflow-wrap: anywhere; min-width: 160px; }
.table .empty { color: var(--soft); }
.table .marked { background: var(--warn-tint); box-shadow: inset 0 -2px var(--warn); }
.table [role=gridcell]:focus-visible, .table [role=rowheader]:focus-visible { outline-offset: -2px; }
.table .editable { cursor: text; }
.table .editable:hover { background: var(--accent-tint); }
.table td.wordy { min-width: 260px; }
.table a.whole { font-weight: 550; text-decoration: none; }
.table a.whole:hover { text-decoration: underline; }
.editing { display: grid; gap: 8px; min-width: 200px; }
.editing input { min-height: 34px; padding: 0 8px; }
.verdict { display: inline-flex; align-items: center; gap: 8px; white-space: nowrap; }
.groups > li { display: grid; gap: 8px; padding: 14px 0; border-block-end: 1px solid var(--line); }
.groups > li:last-child { border: 0; }
.groups .count { font-weight: 600; min-width: 20px; }
.groups .begin { flex-wrap: nowrap; align-items: baseline; flex: 1 1 320px; }
.groups .begin > .icon { align-self: start; margin-block-start: 3px; color: var(--dot, var(--soft)); }
.mapping .button { justify-self: start; }
.table td > p.small { width: max-content; max-width: 280px; margin-block-start: 4px; }
.mapping td:nth-child(2) { min-width: 220px; }
.need { color: var(--bad); }
.fix { display: grid; grid-template-columns: 1fr 1fr auto; gap: 12px; align-items: end; }
.note .fix { width: 100%; grid-template-columns: minmax(180px, 320px) auto; justify-content: start; }
.skeleton { display: grid; gap: 12px; }
.skeleton i { display: block; height: 14px; border-radius: 4px; background: var(--line); animation: breathe 1.6s ease-in-out infinite; }
.skeleton i:nth-child(2) { width: 70%; } .skeleton i:nth-child(3) { width: 45%; }
@keyframes breathe { 50% { opacity: .45; } }
details > :nth-child(2) { margin-block-start: 12px; }
summary { cursor: pointer; font-weight: 550; width: fit-content; border-radius: 4px; }

@container (max-width: 640px) {
  .card { padding: 16px; }
  .drop { padding: 32px 16px; }
  .fix { grid-template-columns: 1fr; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; }
  .note .fix { grid-template-columns: minmax(0, 1fr); }
  .steps { display: grid; grid-template-columns: repeat(4, 1fr); gap: 8px; }
  .steps li { flex-direction: column; gap: 4px; text-align: center; }
  .stretch > .button, .stretch > .line, .stretch > .line > .button { flex: 1 1 100%; }
  .cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .cards, .cards tbody, .cards tr { display: block; }
  .table.cards .text { width: auto; max-width: none; }
  .table.cards th.number { width: auto; }
  .cards td, .cards th { display: grid; grid-template-columns: minmax(84px, 32%) 1fr; gap: 12px; max-width: none; min-width: 0; padding: 6px 14px; border: 0; background: none; text-align: start; }
  .cards td[data-label]::before, .cards th[data-label]::before { content: attr(data-label); color: var(--soft); font-size: 13px; font-weight: 400; white-space: normal; }
  .cards tr { padding: 10px 0; border-block-end: 1px solid var(--line); }
  .cards tr:last-child { border: 0; }
  .cards .number { text-align: start; }
  .cards td.wordy { min-width: 0; }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { transition: none !important; animation: none !important; }
}
@media (forced-colors: active) {
  .bar { border: 1px solid CanvasText; } .bar > div { background: Highlight; forced-color-adjust: none; }
  .dot { forced-color-adjust: none; }
}
`);
