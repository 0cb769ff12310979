/** The lines of a declaration that say how data is laid out, each with what it was inferred from. */
import type { LayoutFields } from './layout.ts';
import type { DataLayoutFacts } from './layout-notes.ts';

const NOTE_OF: Readonly<Record<string, string>> = { labelLevel: 'label', annotations: 'label' };
const HINT = 'parentFolder, namePattern or annotations, if the samples have labels';

/** JSON is YAML. Plain words stay as a person would write them. */
function yaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yaml).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([name, one]) => `${plain(name)}: ${yaml(one)}`)
      .join(', ')} }`;
  return typeof value === 'string' ? plain(value) : String(value);
}

const plain = (text: string): string =>
  /^[A-Za-z_][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : `'${text.replaceAll("'", "''")}'`;

/** A comment has no line ends. */
const comment = (text: string): string => `  # ${text.replaceAll(/[\r\n\u2028\u2029]/g, ' ')}`;

export function layoutLines({ fields, notes, told }: DataLayoutFacts): string[] {
  const ofField = (field: string): string[] =>
    notes.flatMap((note) => (note.field === field ? [comment(`found: ${note.text}`)] : []));
  const written = Object.entries(fields satisfies LayoutFields).flatMap(([name, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    const hint = name === 'label' && value === 'none' ? `   # ${HINT}` : '';
    return [...(NOTE_OF[name] === undefined ? ofField(name) : []), `  ${name}: ${yaml(value)}${hint}`];
  });
  return [
    ...ofField('accept'),
    ...written,
    ...ofField('innerSuffixes'),
    ...told.map((text) => comment(`TO DO: ${text}.`)),
  ];
}
