/**
 * Which Deep Learning Container trains a pipeline. The table is data with its source (`image-table.json`); PyTorch moved
 * from repository `pytorch-training` to `pytorch`, with another scheme of tags, at 2.11 in 2026.
 */

import type { TrainingType } from '@tidewheel/declaration/instance-types.ts';
import { computeCapability } from './accelerators.ts';
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
  | { readonly kind: 'image'; readonly uri: string; readonly supportedUntil: string }
  | {
      readonly kind: 'unknown';
      readonly field: 'framework' | 'frameworkVersion' | 'region' | 'device' | 'accelerator';
      readonly message: string;
    };

const accounts: Readonly<Record<string, string>> = table.accounts;
const DNS_SUFFIX_CHINA = 'amazonaws.com.cn';
const DNS_SUFFIX = 'amazonaws.com';

/**
 * CUDA 13 compiles for Turing (7.5) and newer: its toolkit cannot target Maxwell, Pascal and Volta any more.
 * PyTorch's CUDA 12 images up to 2.10 hold Volta (pytorch/pytorch#157517, #172352).
 * https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html#deprecated-architectures
 */
const LOWEST_COMPUTE_CAPABILITY: Readonly<Record<string, number>> = { '12': 5, '13': 7.5 };

const distinct = (values: readonly string[]): string => [...new Set(values)].join(', ');

export function imageFor({ framework, version, region, device, accelerator }: ImageQuestion): ImageAnswer {
  const ofFramework = table.images.filter((image) => image.framework === framework);
  if (ofFramework.length === 0) {
    return unknown(
      'framework',
      `no image is known for "${framework}", use ${distinct(table.images.map((image) => image.framework))}`,
    );
  }
  const ofVersion = ofFramework.filter(
    (image) => image.version === version || image.version.startsWith(`${version}.`),
  );
  if (ofVersion.length === 0) {
    const known = distinct(ofFramework.map((image) => image.version));
    return unknown(
      'frameworkVersion',
      `no ${framework} ${version} image is known, use ${known} or name an image of your own`,
    );
  }
  const image = ofVersion.findLast((candidate) => candidate.device === device);
  if (image === undefined) {
    return unknown(
      'device',
      `no ${framework} ${version} image is known for ${device} instances, name an image of your own`,
    );
  }
  const lacking = accelerator && lackOfCuda(image.tag, accelerator);
  if (lacking) {
    const older = ofFramework.findLast(
      (candidate) => candidate.device === device && lackOfCuda(candidate.tag, accelerator) === undefined,
    );
    const remedy = older === undefined ? '' : `training.frameworkVersion: "${older.version}" or `;
    return unknown(
      'accelerator',
      `the ${framework} ${image.version} image ${lacking}: use ${remedy}an image of your own`,
    );
  }
  const account = Object.hasOwn(accounts, region) ? accounts[region] : undefined;
  if (account === undefined) {
    return unknown(
      'region',
      `no image registry is known for region "${region}", use ${Object.keys(accounts).join(', ')}`,
    );
  }
  const suffix = region.startsWith('cn-') ? DNS_SUFFIX_CHINA : DNS_SUFFIX;
  const uri = `${account}.dkr.ecr.${region}.${suffix}/${image.repository}:${image.tag}`;
  return { kind: 'image', uri, supportedUntil: image.supportedUntil };
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
