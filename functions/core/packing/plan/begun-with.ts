/** What all generations of a dataset have in common. A declaration that says something else is refused before a plan. */

import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { formatOf } from '../formats/formats.ts';
import type { Manifest } from '../model/manifest.ts';
import { INNER_SUFFIXES } from '../model/member-names.ts';
import { packingKeys } from '../model/packing-keys.ts';

/**
 * @param manifests of generations that are not replaced
 * @returns the settings with the dataset's inner suffixes, whose keys would otherwise form other samples
 * @throws ConfigurationError
 */
export function begunWith(packing: PackingSettings, manifests: readonly Manifest[]): PackingSettings {
  const packed = manifests.filter(({ shards, pruned }) => shards.length > 0 && pruned !== true);
  for (const one of packed) checkSame(packing, one);
  const [first] = packed;
  const innerSuffixes = first === undefined ? (packing.innerSuffixes ?? INNER_SUFFIXES) : first.innerSuffixes;
  return { ...packing, innerSuffixes: innerSuffixes && [...innerSuffixes] };
}

function checkSame(packing: PackingSettings, one: Manifest): void {
  const { format, label, labelPattern, split, innerSuffixes = one.innerSuffixes } = packing;
  const { labelRule = { label, labelPattern } } = one;
  const current = formatOf(packing);
  const compression = current.isGzipped?.(packing) === true ? 'gzip' : 'none';
  const { labelType, kind } = current.schema(packing, { columns: [] });
  // Another format has another schema, and is refused itself.
  const schema = format === one.format ? one.schema : { labelType, kind };
  const parts = [
    ['format', format, one.format, 'no reader takes both'],
    ['tfrecord.compression', compression, one.compression ?? 'none', 'no reader takes both'],
    [`${format}.kind`, kind, schema.kind, 'no reader takes both'],
    ['labelType', labelType, schema.labelType, 'the dataset would mix two kinds of labels'],
    ['label', label, labelRule.label, 'the dataset would mix two kinds of labels'],
    ['labelPattern', labelPattern, labelRule.labelPattern, 'the dataset would mix two kinds of labels'],
    ['split', split, one.split, 'a group could be in two splits'],
    ['innerSuffixes', innerSuffixes, one.innerSuffixes, 'a sample could be packed twice'],
  ] as const;
  const other = parts.flatMap(([name, now, before, so]) =>
    shown(now) === shown(before)
      ? []
      : [
          `packing.${name} is ${shown(now)}, but ${one.generation} was packed with ${shown(before)}, so ${so}`,
        ],
  );
  if (other.length === 0) return;
  throw new ConfigurationError(
    `${other.join('; ')}: declare it as it was, or drop the data into a new pipeline, or let the next run pack it again: ${packingKeys(one.pipeline, one.generation).repair} --give-up`,
  );
}

const shown = (value: unknown): string => JSON.stringify(value) ?? 'not declared';
