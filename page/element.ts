/** Elements of the page. Text becomes a text node, so that no name, label or message is ever read as HTML. */
export type Child = Node | string;

export function element(name: string, attributes: Readonly<Record<string, string>>, ...children: Child[]) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function svg(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: Child[]
) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** @param numeric columns with numbers, counted from 0 */
export function table(
  caption: string,
  columns: readonly string[],
  rows: readonly (readonly Child[])[],
  numeric: readonly number[] = [],
): HTMLElement {
  const of = (place: number) => (numeric.includes(place) ? { class: 'number' } : {});
  const head = columns.map((column, place) => element('th', { scope: 'col', ...of(place) }, column));
  const body = rows.map((row) =>
    element('tr', {}, ...row.map((cell, place) => element('td', of(place), cell))),
  );
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body)),
  );
}

/** The numbers of a chart; open or closed as the reader left it. */
export const numbers = (id: string, content: HTMLElement): HTMLElement =>
  element('details', { id }, element('summary', {}, 'as a table'), content);

export const command = (text: string): HTMLElement =>
  element('p', { class: 'quiet' }, 'In a shell: ', element('code', {}, text));
