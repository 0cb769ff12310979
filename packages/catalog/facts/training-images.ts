/**
 * Which image of AWS trains a pipeline. The table is data with its source (`image-table.json`); PyTorch moved from
 * repository `pytorch-training` to `pytorch`, with another scheme of tags, at 2.11 in 2026.
 */

import { type TrainingType, trainingType } from '@tidewheel/declaration/instance-types.ts';
import { choosesImage } from '@tidewheel/declaration/launchers.ts';
import type { Framework, Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { frameworkVersionOf } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { own } from '@tidewheel/kit/own-property.ts';
import { computeCapability } from './accelerators.ts';
import type { ImageRow } from './image-catalogue.ts';
import table from './image-table.json' with { type: 'json' };

export interface ImageQuestion {
  readonly framework: string;
  /** `2.13` (newest patch known) or `2.13.0` */
  readonly version: string;
  readonly region: string;
  readonly device: TrainingType['device'];
  /** The kind of its accelerators, where it is known: `V100`. */
  readonly accelerator?: string | undefined;
}

export type ImageAnswer =
  | { readonly kind: 'image'; readonly uri: string }
  | {
      readonly kind: 'unknown';
      readonly field: 'framework' | 'frameworkVersion' | 'region' | 'device' | 'accelerator';
      readonly message: string;
    };

const DNS_SUFFIX_CHINA = 'amazonaws.com.cn';
const DNS_SUFFIX = 'amazonaws.com';

/**
 * CUDA 13 compiles for Turing (7.5) and newer: its toolkit cannot target Maxwell, Pascal and Volta any more.
 * PyTorch's CUDA 12 images up to 2.10 hold Volta (pytorch/pytorch#157517, #172352).
 * https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html#deprecated-architectures
 */
const LOWEST_COMPUTE_CAPABILITY: Readonly<Record<string, number>> = { '12': 5, '13': 7.5 };

/** The agent's, as `training/pyproject.toml` has it. */
const LEAST_PYTHON = 10;

const distinct = (values: readonly string[]): string => [...new Set(values)].join(', ');

type Row = Omit<ImageRow, 'framework' | 'device'> & { readonly framework: string; readonly device: string };
const IMAGES: readonly Row[] = table.images;
const isTooOld = ({ python }: Row): boolean => Number(python?.split('.')[1] ?? LEAST_PYTHON) < LEAST_PYTHON;

/** Those that AWS has a training image for, with a Python that the agent runs on; oldest first. */
export const imageVersions = (framework: string, device: TrainingType['device']): readonly string[] =>
  IMAGES.filter((image) => image.framework === framework && image.device === device && !isTooOld(image))
    .map(({ version }) => version)
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));

export function imageFor({ framework, version, region, device, accelerator }: ImageQuestion): ImageAnswer {
  const ofFramework = IMAGES.filter((image) => image.framework === framework);
  if (ofFramework.length === 0) {
    return unknown(
      'framework',
      `no image is known for "${framework}", use ${distinct(IMAGES.map((image) => image.framework))}`,
    );
  }
  const exact = ofFramework.filter((image) => image.version === version);
  const ofVersion =
    exact.length > 0
      ? exact
      : ofFramework.filter(
          ({ version: known }) => /^[.-]/.test(known.slice(version.length)) && known.startsWith(version),
        );
  if (ofVersion.length === 0) {
    const known = distinct(ofFramework.filter((image) => !isTooOld(image)).map((image) => image.version));
    return unknown(
      'frameworkVersion',
      `no ${framework} ${version} image is known, use ${known} or name an image of your own`,
    );
  }
  const image = ofVersion.findLast((candidate) => candidate.device === device);
  if (image === undefined) {
    const devices = [...new Set(ofVersion.map((candidate) => candidate.device))].join(' or ');
    return unknown(
      'device',
      `no ${framework} ${version} image is known for ${device} instances, choose ${devices} types or name an image of your own`,
    );
  }
  if (isTooOld(image)) return unknown('frameworkVersion', tooOld(image, ofFramework));
  const lacking = accelerator && lackOfCuda(image.tag, accelerator);
  if (lacking) {
    const older = ofFramework.findLast(
      (candidate) =>
        candidate.device === device &&
        !isTooOld(candidate) &&
        lackOfCuda(candidate.tag, accelerator) === undefined,
    );
    const remedy = older === undefined ? '' : `training.frameworkVersion: "${older.version}" or `;
    return unknown(
      'accelerator',
      `the ${framework} ${image.version} image ${lacking}: use ${remedy}an image of your own`,
    );
  }
  const accounts = image.repository.startsWith('sagemaker-') ? table.algorithmAccounts : table.accounts;
  const account = own(accounts, region);
  if (account === undefined) {
    return unknown(
      'region',
      `no image registry is known for region "${region}", use ${Object.keys(accounts).join(', ')}`,
    );
  }
  const suffix = region.startsWith('cn-') ? DNS_SUFFIX_CHINA : DNS_SUFFIX;
  const uri = `${account}.dkr.ecr.${region}.${suffix}/${image.repository}:${image.tag}`;
  return { kind: 'image', uri };
}

/** The nearest newer one, else the newest. */
function tooOld(image: Row, ofFramework: readonly Row[]): string {
  const { framework, version, python, device } = image;
  const others = ofFramework.filter((other) => other.device === device && !isTooOld(other));
  const nearest = others.find((other) => ofFramework.indexOf(other) > ofFramework.indexOf(image));
  return `the ${framework} ${version} image has Python ${python}, and Tidewheel's agent needs 3.${LEAST_PYTHON}: use training.frameworkVersion: "${(nearest ?? others.at(-1))?.version}" or an image of your own`;
}

/** By the declaration's field. */
export const imageProblem = ({ field, message }: Extract<ImageAnswer, { kind: 'unknown' }>): Problem => ({
  path: PATHS[field],
  message,
});

const PATHS = {
  framework: 'training.framework',
  frameworkVersion: 'training.frameworkVersion',
  device: 'training.image',
  accelerator: 'training.frameworkVersion',
  region: 'region',
} as const;

/** Why no declared type has an image of the declared framework, whatever the region; undefined where one has. */
export function frameworkProblem({
  training,
  compute,
}: Pick<Pipeline, 'training' | 'compute'>): Problem | undefined {
  if (training.image !== undefined || !choosesImage(compute)) return undefined;
  const devices = (compute.instanceTypes ?? []).flatMap((type) => trainingType(type)?.device ?? []);
  const answers = imagesOn(devices.length === 0 ? ANY_DEVICE : devices, training);
  const problems = answers.flatMap((answer) => (answer.kind === 'unknown' ? [answer] : []));
  const problem = problems.find(({ field }) => field !== 'device') ?? problems[0];
  return problem === undefined || problems.length < answers.length ? undefined : imageProblem(problem);
}

const ANY_DEVICE = ['cpu', 'gpu'] as const;

const imagesOn = (devices: readonly TrainingType['device'][], training: Pipeline['training']) =>
  [...new Set(devices)].map((device) =>
    imageFor({
      framework: training.framework,
      version: frameworkVersionOf(training),
      region: 'us-east-1',
      device,
    }),
  );

const PYTHON_PACKAGES = {
  // A machine's Python is chosen for it: gigabytes, which no job installs.
  pytorch: () => [],
  tensorflow: (version) => [`tensorflow==${version}`],
  huggingface: (version) => [`transformers==${version}`, 'datasets', 'accelerate', 'evaluate'],
  sklearn: (version) => [`scikit-learn==${version}`, 'scipy', 'pandas', 'pyarrow'],
  xgboost: (version) => [`xgboost==${version}`, 'scikit-learn', 'scipy', 'pandas', 'pyarrow'],
} as const satisfies Readonly<Record<Framework, (version: string) => readonly string[]>>;

/**
 * What scripts find in an image of the table, for a machine that stands for it: the framework, and what they import
 * beside it. Empty for another image.
 */
export function packagesOfImage(uri: string): readonly string[] {
  const name = uri.slice(uri.indexOf('/') + 1);
  const image = IMAGES.find(({ repository, tag }) => name === `${repository}:${tag}`);
  if (image === undefined) return [];
  const [version = ''] = image.version.replace(/-(?=\d)/, '.').split('-');
  const packages: Readonly<Record<string, (version: string) => readonly string[]>> = PYTHON_PACKAGES;
  return own(packages, image.framework)?.(version) ?? [];
}

/** Why programs of the image have no code for the accelerator; undefined where they have, or where it is not known. */
function lackOfCuda(tag: string, accelerator: string): string | undefined {
  const [, cuda = ''] = /-cu(\d{2})\d/.exec(tag) ?? [];
  const lowest = LOWEST_COMPUTE_CAPABILITY[cuda];
  const own = computeCapability(accelerator);
  if (lowest === undefined || own === undefined || own >= lowest) return undefined;
  return `has CUDA ${cuda}, which needs compute capability ${lowest.toFixed(1)}, and ${accelerator} has ${own.toFixed(1)}`;
}

const unknown = (
  field: Extract<ImageAnswer, { kind: 'unknown' }>['field'],
  message: string,
): ImageAnswer => ({
  kind: 'unknown',
  field,
  message,
});

/** The same for a machine that stands for whichever image the job would have. */
export function packagesOfTraining(training: Pipeline['training']): readonly string[] {
  const uris = imagesOn(ANY_DEVICE, training).flatMap((answer) =>
    answer.kind === 'image' ? [answer.uri] : [],
  );
  return packagesOfImage(training.image ?? uris[0] ?? '');
}
