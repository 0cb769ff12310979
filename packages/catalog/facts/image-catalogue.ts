/**
 * Reads AWS's two lists of training images into our table. aws/deep-learning-containers: `docs/src/data/<repository>/*.yml`
 * (one image a file, newest tags first) and the accounts in `docs/reference/region_availability.md`.
 * aws/sagemaker-python-sdk: `image_uri_config/<framework>.json`, which has the older ones too.
 */

import { FRAMEWORKS, type Framework } from '@tidewheel/declaration/pipeline.ts';
import { parse } from 'yaml';
import * as z from 'zod';

const rowSchema = z.object({
  framework: z.enum(FRAMEWORKS),
  version: z.string(),
  device: z.enum(['cpu', 'gpu']),
  repository: z.string(),
  tag: z.string(),
  python: z.string().optional().describe('Such as 3.9, where a source says it.'),
  supportedUntil: z.string().optional().describe('YYYY-MM-DD, the last day of it, where a source says it.'),
});
export type ImageRow = Readonly<z.output<typeof rowSchema>>;

const accounts = z.record(z.string(), z.string()).readonly();
export const imageTableSchema = z.object({
  source: z.string(),
  accounts: accounts.describe('Of Deep Learning Containers, by region.'),
  algorithmAccounts: accounts.describe('Of XGBoost and scikit-learn, by region.'),
  images: z.array(rowSchema).readonly(),
});
export type ImageTable = Readonly<z.output<typeof imageTableSchema>>;

/** Repositories whose SageMaker images train; others serve, or are for chips that need another framework build. */
export const TRAINING_REPOSITORIES = [
  'pytorch',
  'pytorch-training',
  'tensorflow',
  'tensorflow-training',
  'huggingface-pytorch-training',
  'sagemaker-scikit-learn',
  'sagemaker-xgboost',
] as const;

const entrySchema = z.object({
  framework: z.string(),
  version: z.string(),
  accelerator: z.enum(['cpu', 'gpu']),
  platform: z.literal('sagemaker'),
  python: z.string().optional(),
  transformers: z.string().optional(),
  eop: z.iso.date().optional(),
  tags: z.array(z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/)).min(1),
});

const NAMED: Readonly<Record<string, Framework>> = {
  PyTorch: 'pytorch',
  TensorFlow: 'tensorflow',
  'Scikit-Learn': 'sklearn',
  XGBoost: 'xgboost',
};

/**
 * Neither list has the Python of these: it is that of the Dockerfiles, by version, in the branches of
 * aws/sagemaker-scikit-learn-container and aws/sagemaker-xgboost-container and in aws/deep-learning-containers.
 */
const PYTHONS: Readonly<Partial<Record<Framework, Readonly<Record<string, string>>>>> = {
  sklearn: {
    '0.20.0': '3.7',
    '0.23-1': '3.7',
    '1.0-1': '3.8',
    '1.2-1': '3.9',
    '1.4-2': '3.10',
    '1.4-2-py312': '3.12',
    '1.9-0': '3.12',
  },
  xgboost: {
    '1.0-1': '3.7',
    '1.2-1': '3.7',
    '1.2-2': '3.7',
    '1.3-1': '3.7',
    '1.5-1': '3.8',
    '1.7-1': '3.9',
    '3.0-5': '3.10',
    '3.2-0': '3.12',
  },
};
const pythonOf = (framework: Framework, version: string, named: string | undefined): string | undefined =>
  /^py3(\d+)$/.exec(named ?? '')?.[1]?.replace(/^/, '3.') ?? PYTHONS[framework]?.[version];

/** undefined when the file describes no image that trains on SageMaker on a CPU or a GPU */
export function imageRow(repository: string, text: string): ImageRow | undefined {
  const read = entrySchema.safeParse(parse(text));
  if (!read.success) return undefined;
  const { framework: name, accelerator: device, transformers, eop, tags } = read.data;
  const framework = transformers === undefined ? NAMED[name] : 'huggingface';
  const [tag = ''] = tags;
  const version = transformers ?? VERSION.exec(tag)?.[0];
  if (framework === undefined || version === undefined) return undefined;
  const python = pythonOf(framework, version, read.data.python);
  const row = { framework, version, device, repository, tag };
  return { ...row, ...(python && { python }), ...(eop && { supportedUntil: eop }) };
}

/** `2.13.0`, which more may follow, or `1.4-2-py312`, a whole tag. */
const VERSION = /^\d+\.\d+(\.\d+|-\d+(-py\d+)?(?=$))/;

const registrySchema = z.object({
  repository: z.string(),
  registries: z.record(z.string(), z.string()),
  py_versions: z.array(z.string()).optional(),
  processors: z.array(z.enum(['cpu', 'gpu'])).optional(),
  container_version: z.record(z.string(), z.string()).optional(),
});
const configurationSchema = z.object({
  training: z.object({
    processors: z.array(z.enum(['cpu', 'gpu'])).optional(),
    versions: z.record(z.string(), z.record(z.string(), z.unknown())),
  }),
});

/**
 * The images of a framework in the SDK's list, with tags as the SDK writes them (`_format_tag` of `image_uris.py`).
 * One without a Python that is known is left out: of the first years.
 */
export function sdkRows(framework: Framework, text: string): readonly ImageRow[] {
  const { training } = configurationSchema.parse(JSON.parse(text));
  return Object.entries(training.versions).flatMap(([version, entry]) =>
    builds(entry).flatMap(({ build, base }) => {
      const { repository, py_versions: pythons = [], processors, container_version: container } = build;
      const name = pythons.at(-1);
      const python = pythonOf(framework, version, name);
      if (python === undefined) return [];
      return (processors ?? training.processors ?? DEVICES).map((device): ImageRow => {
        const first = base === undefined ? version : `${base}-transformers${version}`;
        const rest = [name && device, name, container?.[device]];
        const tag = [first, ...rest.filter((part) => part !== undefined)].join('-');
        return { framework, version, device, repository, tag, python };
      });
    }),
  );
}

const DEVICES = ['cpu', 'gpu'] as const;

/** Takes transformers over PyTorch alone: images over TensorFlow ended with Python 3.8. */
function builds(entry: Readonly<Record<string, unknown>>) {
  const direct = registrySchema.safeParse(entry);
  if (direct.success) return [{ build: direct.data, base: undefined }];
  return Object.entries(entry).flatMap(([name, value]) => {
    const base = /^pytorch(.*)$/.exec(name)?.[1];
    const build = registrySchema.safeParse(value);
    return base !== undefined && build.success ? [{ build: build.data, base }] : [];
  });
}

/** Region to account of the SDK's newest image; regions of other partitions than AWS's, China's and GovCloud's are left out. */
export function sdkAccounts(text: string): Record<string, string> {
  const { training } = configurationSchema.parse(JSON.parse(text));
  const newest = Object.values(training.versions).at(-1) ?? {};
  const registries = builds(newest).at(-1)?.build.registries ?? {};
  return Object.fromEntries(Object.entries(registries).filter(([region]) => !region.includes('-iso')));
}

/** The page's tables of accounts that are ours. */
export const ACCOUNT_TABLES = {
  accounts: '## Deep Learning Containers',
  algorithmAccounts: '## SageMaker Algorithm Registry',
} as const;

/** Region to account, from one table of the page. */
export function accountsOf(
  markdown: string,
  heading: string = ACCOUNT_TABLES.accounts,
): Record<string, string> {
  const [, section = ''] = markdown.split(heading);
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
  for (const list of ['accounts', 'algorithmAccounts'] as const)
    for (const [region, account] of Object.entries(read[list]))
      if (known[list][region] !== account)
        changes.push(`account of ${region}: ${known[list][region] ?? 'none'} -> ${account}`);
  return {
    table: {
      source: read.source,
      accounts: sorted({ ...known.accounts, ...read.accounts }),
      algorithmAccounts: sorted({ ...known.algorithmAccounts, ...read.algorithmAccounts }),
      images: [...images.values()].toSorted(byVersion),
    },
    changes,
  };
}

const sorted = (accounts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(accounts).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const keyOf = ({ framework, version, device }: ImageRow): string => `${framework} ${version} ${device}`;
const describe = (row: ImageRow): string =>
  `${keyOf(row)} ${row.repository}:${row.tag} until ${row.supportedUntil ?? 'unknown'}`;

/** Framework, then version by its numbers: 2.10 comes after 2.9. */
function byVersion(left: ImageRow, right: ImageRow): number {
  if (left.framework !== right.framework)
    return FRAMEWORKS.indexOf(left.framework) - FRAMEWORKS.indexOf(right.framework);
  const [a, b] = [left, right].map(({ version }) => (version.match(/\d+/g) ?? []).map(Number));
  for (let part = 0; part < 4; part += 1) {
    const difference = (a?.[part] ?? 0) - (b?.[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.device < right.device ? -1 : left.device > right.device ? 1 : 0;
}
