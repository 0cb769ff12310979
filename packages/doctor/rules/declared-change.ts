/** Remedies as changes of a declaration: of its fields, and of the text that a person wrote. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { valueAt } from '@tidewheel/kit/tables.ts';
import { parseDocument } from 'yaml';
import type { Change } from './verdict.ts';

export interface DeclaredField {
  /** From the section down. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** As Hugging Face's Trainer, the examples of PyTorch and timm, and the recipes call them. */
const WORKERS = /^(?:(?:dataloader[-_])?num[-_]workers|loader[-_]workers|workers)$/;

/**
 * @param declaration where it is known: its hyperparameters may hold what the script takes as an argument
 * @returns undefined where the script, a person's choice or a run must change instead
 */
export function declaredFields(
  change: Change,
  declaration?: Pick<Pipeline, 'training'>,
): readonly DeclaredField[] | undefined {
  if (change.kind === 'threads')
    return [{ path: ['training', 'environment', 'OMP_NUM_THREADS'], value: String(change.threads) }];
  if (change.kind === 'workers') {
    const names = Object.keys(declaration?.training.hyperparameters ?? {});
    const [name, ...others] = names.filter((each) => WORKERS.test(each));
    if (name === undefined || others.length > 0) return undefined;
    return [{ path: ['training', 'hyperparameters', name], value: change.workers }];
  }
  if (change.kind === 'input-mode') return [{ path: ['training', 'inputMode'], value: change.inputMode }];
  if (change.kind === 'instance-type') return [{ path: ['compute', 'instanceTypes'], value: [change.type] }];
  if (change.kind === 'volume') return [{ path: ['compute', 'volumeGigabytes'], value: change.gigabytes }];
  if (change.kind === 'nodes') return [{ path: ['compute', 'nodes'], value: change.nodes }];
  if (change.kind !== 'helpers') return undefined;
  const group = { name: 'helpers', instanceType: change.type, nodes: change.nodes };
  return [{ path: ['compute', 'helpers'], value: [group] }];
}

/** Whether the declaration says so already: to declare it once more changes nothing. */
export function isDeclared(change: Change, declaration: Pipeline): boolean {
  const { compute, packing, training } = declaration;
  // Each format that can be declared makes shards.
  if (change.kind === 'pack') return true;
  if (change.kind === 'prepare-when-packing') return packing.prepare !== undefined;
  if (change.kind === 'file-system')
    return Object.values(training.channels ?? {}).some((channel) => 'fsxLustre' in channel);
  if (change.kind === 'nodes') return (compute.needs?.maximumNodes ?? compute.nodes) === change.nodes;
  if (change.kind === 'helpers')
    return (compute.helpers ?? []).some(
      ({ instanceType, nodes }) => instanceType === change.type && nodes === change.nodes,
    );
  const fields = declaredFields(change, declaration) ?? [];
  return fields.length > 0 && fields.every(({ path, value }) => says(declaration, path, value));
}

const says = (declaration: Pipeline, path: readonly string[], value: unknown): boolean =>
  textOf(valueAt(declaration, path)) === textOf(value);

/** Numbers of variables and hyperparameters may be texts. */
const textOf = (value: unknown): string => JSON.stringify(value ?? null).replaceAll('"', '');

/**
 * Keeps comments and everything else of the text.
 * @param text YAML that a declaration was read from
 */
export function editDeclaration(text: string, fields: readonly DeclaredField[]): string {
  const document = parseDocument(text);
  for (const { path, value } of fields) document.setIn(path, value);
  return document.toString({ lineWidth: 0 });
}
