/** `tidewheel data repair`: accepts, seals again or gives up a damaged generation. */

import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { own } from '@tidewheel/kit/own-property.ts';
import { blobVersions, newestVersion } from '@tidewheel/packing/dataset.ts';
import {
  giveUpGeneration,
  type PruneRequest,
  type RepairRequest,
  repairGeneration,
} from '@tidewheel/packing/maintain.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { counted } from '../command/format.ts';
import { complain, type DatasetRequest, found, type Outcome } from './words.ts';

const PROBLEMS_SHOWN = 20;

type Surroundings = Pick<DatasetRequest, 'store' | 'tell'>;

/** Of a mistyped name nothing is gone. */
async function isAnywhere(store: BlobStore, { pipeline, generation }: RepairRequest): Promise<boolean> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  if (own(newest?.added, generation) !== undefined) return true;
  const { objects } = await store.listPage(bucketKeys.generation(pipeline, generation), { maximum: 1 });
  return objects.length > 0;
}

export async function repair({ store, tell }: Surroundings, request: RepairRequest): Promise<Outcome> {
  const { pipeline, generation } = request;
  if (!(await isAnywhere(store, request))) {
    const folders = await blobVersions(store).folders(bucketKeys.dataset(pipeline));
    const names = folders.filter((name) => parseGeneration(name) !== undefined);
    return complain(
      `${generation} is no generation of ${pipeline}; available: ${names.join(', ') || 'none'}`,
    );
  }
  const repaired = await repairGeneration(store, request);
  const { isSealedAgain, accepted, rejoined, problems } = repaired;
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) complain(`${generation}: ${problem}`);
  if (problems.length > 0) {
    complain(
      `${counted(problems.length, 'problem')} left: restore the objects named above from older versions of them or from a copy, and repair again; or give the generation up with tidewheel data repair s3://${store.bucket}/${pipeline} ${generation} --give-up`,
    );
    return found({ pipeline, generation, ...repaired }, 1);
  }
  const done = [
    ...(isSealedAgain ? ['its manifest was written again'] : []),
    ...(rejoined.length > 0 ? [`${rejoined.join(', ')} were joined again from the generations before`] : []),
    ...(accepted.length > 0 ? [`the ETags of ${accepted.join(', ')} were accepted`] : []),
  ];
  tell(`${generation} is intact${done.length === 0 ? ', and nothing was changed' : `: ${done.join(', ')}`}`);
  return found({ pipeline, generation, ...repaired });
}

export async function giveUp(
  { store, tell }: Surroundings,
  request: Omit<PruneRequest, 'what'> & { readonly generation: string },
): Promise<Outcome> {
  const { pipeline, generation } = request;
  const result = await giveUpGeneration(store, request);
  if (result.kind === 'refused') {
    for (const reason of result.reasons) complain(reason);
    return complain('nothing was given up');
  }
  const { objects, bytes, retracted, unread } = result;
  tell(
    `${generation} was given up: the newest version is without it, and ${counted(objects, 'object')} (${bytes} bytes) of it ${objects === 1 ? 'was' : 'were'} deleted. The next run packs again what lies under ${pipeline}/incoming/; what does not is gone`,
  );
  if (retracted > 0)
    tell(`${counted(retracted, 'retracted object')} ${retracted === 1 ? 'stays' : 'stay'} out`);
  if (unread.length > 0)
    complain(
      `${unread.join(', ')} cannot be read, so objects that were retracted may be packed again: delete them under ${pipeline}/incoming/ before the next run, or retract them after it`,
    );
  return found({ pipeline, generation, status: 'givenUp', objects, bytes, retracted, unread });
}
