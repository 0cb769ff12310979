/**
 * Which Deep Learning Container trains a pipeline. The table is data with its source (`image-table.json`); PyTorch moved
 * from repository `pytorch-training` to `pytorch`, with another scheme of tags, at 2.11 in 2026.
 */

import table from './image-table.json' with { type: 'json' };
import type { TrainingType } from './training-types.ts';

export interface ImageQuestion {
  readonly framework: string;
  /** `2.13` (newest patch known) or `2.13.0` */
  readonly version: string;
  readonly region: string;
  readonly device: TrainingType['device'];
}

export type ImageAnswer =
  | { readonly kind: 'image'; readonly uri: string; readonly supportedUntil: string }
  | {
      readonly kind: 'unknown';
      readonly field: 'framework' | 'frameworkVersion' | 'region' | 'device';
      readonly message: string;
    };

const accounts: Readonly<Record<string, string>> = table.accounts;
const DNS_SUFFIX_CHINA = 'amazonaws.com.cn';
const DNS_SUFFIX = 'amazonaws.com';

const distinct = (values: readonly string[]): string => [...new Set(values)].join(', ');

export function imageFor({ framework, version, region, device }: ImageQuestion): ImageAnswer {
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

const unknown = (
  field: Extract<ImageAnswer, { kind: 'unknown' }>['field'],
  message: string,
): ImageAnswer => ({
  kind: 'unknown',
  field,
  message,
});
