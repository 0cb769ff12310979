/** Remedies as changes of a declaration: of its fields, and of the text that a person wrote. */
import { parseDocument } from 'yaml';
import type { Change } from './verdict.ts';

export interface DeclaredField {
  /** From the section down. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** @returns undefined where the script, a person's choice or a run must change instead */
export function declaredFields(change: Change): readonly DeclaredField[] | undefined {
  if (change.kind === 'input-mode') return [{ path: ['training', 'inputMode'], value: change.inputMode }];
  if (change.kind === 'instance-type') return [{ path: ['compute', 'instanceTypes'], value: [change.type] }];
  if (change.kind === 'nodes') return [{ path: ['compute', 'nodes'], value: change.nodes }];
  if (change.kind !== 'helpers') return undefined;
  const group = { name: 'helpers', instanceType: change.type, nodes: change.nodes };
  return [{ path: ['compute', 'helpers'], value: [group] }];
}

/**
 * Keeps comments and everything else of the text.
 * @param text YAML that a declaration was read from
 */
export function editDeclaration(text: string, fields: readonly DeclaredField[]): string {
  const document = parseDocument(text);
  for (const { path, value } of fields) document.setIn(path, value);
  return document.toString({ lineWidth: 0 });
}
