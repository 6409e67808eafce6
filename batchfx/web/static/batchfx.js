// The widgets, in one line: <script type="module" src=".../static/batchfx.js"></script>

import { BatchfxImport } from "./import.js";
import { BatchfxProgress } from "./progress.js";

customElements.define("batchfx-progress", BatchfxProgress);
customElements.define("batchfx-import", BatchfxImport);
