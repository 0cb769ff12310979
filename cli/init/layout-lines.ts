/** The lines of a declaration that say how data is laid out, each with what it was inferred from. */
import type { LayoutFields } from './layout.ts';
import type { DataLayoutFacts } from './layout-notes.ts';
import { inline, oneLine } from './yaml-text.ts';

const NOTE_OF: Readonly<Record<string, string>> = { labelLevel: 'label', annotations: 'label' };
const HINT = 'parentFolder, namePattern or annotations, if the samples have labels';

const comment = (text: string): string => `  # ${oneLine(text)}`;

export function layoutLines({ fields, notes, told }: DataLayoutFacts): string[] {
  const ofField = (field: string): string[] =>
    notes.flatMap((note) => (note.field === field ? [comment(`found: ${note.text}`)] : []));
  const written = Object.entries(fields satisfies LayoutFields).flatMap(([name, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    const hint = name === 'label' && value === 'none' ? `   # ${HINT}` : '';
    return [...(NOTE_OF[name] === undefined ? ofField(name) : []), `  ${name}: ${inline(value)}${hint}`];
  });
  return [
    ...ofField('accept'),
    ...written,
    ...ofField('innerSuffixes'),
    ...told.map((text) => comment(`TO DO: ${text}.`)),
  ];
}
