/** Writes the XML of EC2's answers: objects become elements, lists become `<item>`s, undefined is left out. */

export type Xml =
  | string
  | number
  | boolean
  | Date
  | undefined
  | readonly Xml[]
  | { readonly [name: string]: Xml };

const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';

export const responseXml = (
  action: string,
  requestId: string,
  content: { readonly [name: string]: Xml },
): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${action}Response xmlns="${NAMESPACE}">` +
  `${elements({ requestId, ...content })}</${action}Response>`;

export const errorXml = (code: string, message: string, requestId: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error>${elements({ Code: code, Message: message })}` +
  `</Error></Errors>${elements({ RequestID: requestId })}</Response>`;

function elements(content: { readonly [name: string]: Xml }): string {
  return Object.entries(content)
    .map(([name, value]) => (value === undefined ? '' : `<${name}>${inner(value)}</${name}>`))
    .join('');
}

function inner(value: Xml): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (isList(value)) return value.map((each) => `<item>${inner(each)}</item>`).join('');
  return elements(value);
}

/** Array.isArray does not recognise readonly arrays in types. */
const isList = (value: Xml): value is readonly Xml[] => Array.isArray(value);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** What XML 1.0 cannot hold, not even escaped, is dropped. */
const escape = (text: string): string =>
  text
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
    .replace(/(?![\t\n\r])\p{Cc}/gu, '');
