/**
 * Reads the machine-readable part of aws/deep-learning-containers into our table of images: `docs/src/data/<repository>/
 * *.yml` (one image a file, newest tags first) and the table of accounts in `docs/reference/region_availability.md`.
 */
import { parse } from 'yaml';
import * as z from 'zod';

export interface ImageRow {
  readonly framework: 'pytorch' | 'tensorflow';
  readonly version: string;
  readonly device: 'cpu' | 'gpu';
  readonly repository: string;
  readonly tag: string;
  /** Last day of AWS's support, YYYY-MM-DD. */
  readonly supportedUntil: string;
}

export interface ImageTable {
  readonly source: string;
  readonly accounts: Readonly<Record<string, string>>;
  readonly images: readonly ImageRow[];
}

/** Repositories whose SageMaker images train; others serve, or are for chips that need another framework build. */
export const TRAINING_REPOSITORIES = [
  'pytorch',
  'pytorch-training',
  'tensorflow',
  'tensorflow-training',
] as const;

const entrySchema = z.object({
  framework: z.string(),
  version: z.string(),
  accelerator: z.string(),
  platform: z.string(),
  eop: z.iso.date(),
  tags: z.array(z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/)).min(1),
});

const FRAMEWORKS: Readonly<Record<string, ImageRow['framework']>> = {
  PyTorch: 'pytorch',
  TensorFlow: 'tensorflow',
};

/** undefined when the file describes no image that trains on SageMaker on a CPU or a GPU */
export function imageRow(repository: string, text: string): ImageRow | undefined {
  const read = entrySchema.safeParse(parse(text));
  if (!read.success) return undefined;
  const { framework: name, accelerator, platform, eop, tags } = read.data;
  const framework = FRAMEWORKS[name];
  const [tag] = tags;
  const version = /^\d+\.\d+\.\d+/.exec(tag ?? '')?.[0];
  if (framework === undefined || tag === undefined || version === undefined || platform !== 'sagemaker')
    return undefined;
  if (accelerator !== 'cpu' && accelerator !== 'gpu') return undefined;
  return { framework, version, device: accelerator, repository, tag, supportedUntil: eop };
}

/** Region to account, from the first table of the page (the later ones are of other registries). */
export function accountsOf(markdown: string): Record<string, string> {
  const [, section = ''] = markdown.split('## Deep Learning Containers');
  const [table = ''] = section.split('\n## ');
  const rows = table.matchAll(/^\|[^|]*\|\s*([a-z]{2}(?:-[a-z]+)+-\d)\s*\|\s*(\d{12})\s*\|/gm);
  return Object.fromEntries([...rows].map(([, region = '', account = '']) => [region, account] as const));
}

export interface Refreshed {
  readonly table: ImageTable;
  /** For a person: what came, what changed. Nothing is ever taken out: an old image goes on working. */
  readonly changes: readonly string[];
}

/** A read image replaces the known one of the same version and device; the others stay (GovCloud is on no page). */
export function refresh(known: ImageTable, read: ImageTable): Refreshed {
  const images = new Map(known.images.map((row) => [keyOf(row), row]));
  const changes: string[] = [];
  for (const row of read.images) {
    const before = images.get(keyOf(row));
    if (before === undefined) changes.push(`new: ${describe(row)}`);
    else if (describe(before) !== describe(row))
      changes.push(`changed: ${describe(before)} -> ${describe(row)}`);
    images.set(keyOf(row), row);
  }
  for (const [region, account] of Object.entries(read.accounts)) {
    if (known.accounts[region] !== account)
      changes.push(`account of ${region}: ${known.accounts[region] ?? 'none'} -> ${account}`);
  }
  const accounts = Object.fromEntries(
    Object.entries({ ...known.accounts, ...read.accounts }).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return {
    table: { source: read.source, accounts, images: [...images.values()].toSorted(byVersion) },
    changes,
  };
}

const keyOf = ({ framework, version, device }: ImageRow): string => `${framework} ${version} ${device}`;
const describe = (row: ImageRow): string =>
  `${keyOf(row)} ${row.repository}:${row.tag} until ${row.supportedUntil}`;

/** Framework, then version by its numbers: 2.10 comes after 2.9. */
function byVersion(left: ImageRow, right: ImageRow): number {
  if (left.framework !== right.framework) return left.framework < right.framework ? -1 : 1;
  const [a, b] = [left, right].map(({ version }) => version.split('.').map(Number));
  for (let part = 0; part < 3; part += 1) {
    const difference = (a?.[part] ?? 0) - (b?.[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.device < right.device ? -1 : left.device > right.device ? 1 : 0;
}
