/** Whether the shards of two generations may lie in one: what their format needs to be the same. */
import { isDeepStrictEqual } from 'node:util';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Manifest } from '../model/documents.ts';
import type { PlanFacts } from '../model/shard-format.ts';
import { formatOf } from './formats.ts';

export type Shape = NonNullable<Manifest['shape']>;

export function shapeOf(settings: PackingSettings, facts: PlanFacts): Shape {
  switch (settings.format) {
    case 'webdataset':
    case 'recordio':
      return {};
    case 'tfrecord':
      return { labelType: settings.labelType };
    case 'mds':
      return { labelType: settings.labelType, columns: [...facts.columns] };
    case 'lines': {
      const { kind, header } = settings.lines;
      const csvHeader = header === 'perShard' ? facts.csvHeader : undefined;
      return { kind, ...(csvHeader !== undefined && { csvHeader }) };
    }
    case 'records':
      return { kind: settings.records.kind };
    default:
      return settings.format satisfies never;
  }
}

/** Generations with the same key can be joined. undefined for one that the pipeline would not write so any more. */
export function joinKey(manifest: Manifest, settings: PackingSettings): string | undefined {
  const { shape, format, compression } = manifest;
  const isGzipped = formatOf(settings).isGzipped?.(settings) === true;
  if (shape === undefined || format !== settings.format || (compression === 'gzip') !== isGzipped)
    return undefined;
  const wanted = shapeOf(settings, { columns: shape.columns ?? [], csvHeader: shape.csvHeader });
  return isDeepStrictEqual(wanted, shape) ? JSON.stringify(shape) : undefined;
}
