/** `packing.hold`: whether the data that a run would train on waits for a person. */

import { batchOf, newestVersion, objectVersions, type VersionStore } from '../packing/model/versions.ts';
import { isReleased, reportedHeld } from '../packing/quality/held.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { parseGeneration } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';

/**
 * A report that could not be made holds training too: otherwise its failure would pass for good data. A pinned version
 * was chosen by a person.
 * @returns what holds the run back and which command lets it go; undefined if nothing does
 */
export async function whyHeld(store: ObjectStore, run: RunRecord): Promise<string | undefined> {
  const { pipeline, declaration } = run;
  if (declaration?.packing.hold === undefined || declaration.dataset?.pin !== undefined) return undefined;
  const versions = objectVersions(store);
  const generation = run.generation ?? (await lastSealed(versions, pipeline));
  if (generation === undefined || (await isReleased(versions, pipeline, generation))) return undefined;
  const held = await reportedHeld(versions, pipeline, generation);
  if (held?.length === 0) return undefined;
  const command = (verb: string): string =>
    `tidewheel data ${verb} s3://${store.bucket}/${pipeline} ${generation}`;
  const then = `then retry ${run.runId}`;
  return held === undefined
    ? `packing.hold cannot be checked, because ${generation} has no quality report: run ${command('report')}, ${then}`
    : `held back by packing.hold: ${held.join('; ')}. Look at ${generation}, then let it go with ${command('release')}, ${then}`;
}

/** The newest generation that a run packed and that a version holds, alone or joined with others. */
async function lastSealed(versions: VersionStore, pipeline: string): Promise<string | undefined> {
  const newest = await newestVersion(versions, pipeline);
  return Object.keys(newest?.added ?? {})
    .filter((name) => parseGeneration(name)?.isCompacted === false)
    .sort((a, b) => batchOf(a) - batchOf(b))
    .at(-1);
}
