/** HTML without scripts, from hostile text. Whatever is put into a template is escaped unless it is HTML already. */

/** A piece of a page. Only `html` makes one. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

type Part = string | number | Html | undefined | readonly Part[];

/** Control characters become visible, and a text that turns the direction of writing does so only inside itself. */
function escaped(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'number') return String(part);
  if (typeof part !== 'string') return part.map(escaped).join('');
  return part
    .toWellFormed()
    .replace(/\p{Cc}/gu, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(/[&<>"']/g, (one) => ESCAPES[one] ?? one);
}

export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, index) => text + escaped(parts[index])).join(''));

const STYLE = `body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f23;
background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse}
td,th{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #e4e7eb}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{overflow-wrap:anywhere}
.held{border-left:4px solid #b3261e;padding:.2rem 1rem;background:#fdecea}ul.sheet{display:flex;flex-wrap:wrap;gap:1rem;
list-style:none;padding:0}ul.sheet li{width:11rem}img{max-width:11rem;max-height:11rem;background:#eef}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:11rem;overflow:auto;background:#f6f8fa;padding:.4rem}
small{color:#57606a}@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}
td,th{border-color:#30363d}.held{background:#3b1614}pre{background:#161b22}small{color:#9198a1}}`;

/** A whole page. The policy forbids scripts, requests and forms, whatever the text may hold. */
export const htmlPage = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`.text;

export interface ReportColumn<Row> {
  readonly head: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => Part;
}

/** A table; `none` in place of one without rows. */
export function tableOfRows<Row>(
  rows: readonly Row[],
  columns: readonly ReportColumn<Row>[],
  none: string,
): Html {
  if (rows.length === 0) return html`<p>${none}</p>`;
  const kind = ({ isNumber }: ReportColumn<Row>): Html => new Html(isNumber === true ? ' class="n"' : '');
  return html`<table>
<tr>${columns.map((column) => html`<th${kind(column)}>${column.head}</th>`)}</tr>
${rows.map((row) => html`<tr>${columns.map((column) => html`<td${kind(column)}>${column.cell(row)}</td>`)}</tr>\n`)}</table>`;
}
