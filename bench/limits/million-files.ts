/** Every request for a million files of 10 KB, from the notification of the first to the sealed dataset. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ListedObject } from '@tidewheel/kit/object-store.ts';
import { type IncomingLook, settleRun } from '../../functions/run/ingest/settle-run.ts';
import { PUTS_A_SECOND, passArrivals, STEP_SECONDS } from '../../test/support/world/arrivals-queue.ts';
import { created, type Ground, ground } from '../../test/support/world/ground.ts';
import type { CaseOptions, CaseResult } from './case.ts';
import { runDrops } from './drops.ts';
import { addRequests, type RequestKind, type Requests } from './lambda-prices.ts';

const PIPELINE = 'digits';
const FILE_BYTES = 10_000;
/** 200 MB, one item. */
const ITEM_FILES = 20_000;
const ITEM_SECONDS = ITEM_FILES / 1_500;
const KEYS_A_PAGE = 1_000;
const ON_ARRIVAL_MEGABYTES = 512;

export async function runMillionFiles(
  notify: 'objects' | 'markers',
  options: CaseOptions,
): Promise<CaseResult> {
  const files = options.small ? 100_000 : 1_000_000;
  const beside = await requestsOfArrivals(files, notify);
  // runDrops takes a tenth of it by itself.
  const items = 1_000_000 / ITEM_FILES;
  return runDrops(
    {
      drops: [{ pipeline: 'tide', items, itemSeconds: ITEM_SECONDS }],
      files: { files: ITEM_FILES, fileBytes: FILE_BYTES },
      beside,
    },
    options,
  );
}

/** What notifications and the looks of the settle phase cost, counted by taking and settling them. */
async function requestsOfArrivals(files: number, notify: 'objects' | 'markers'): Promise<Requests> {
  const at = ground();
  at.declare();
  const calls = new Map<RequestKind, number>();
  const incoming = bucketKeys.incoming(PIPELINE);
  let sent = 0;
  const nextObjects = () => {
    const count = Math.min(PUTS_A_SECOND * STEP_SECONDS, files - sent);
    const bodies = Array.from({ length: count }, (_, index) =>
      created(`${incoming}${sent + index}.jpg`, at.clock.now()),
    );
    sent += count;
    return bodies;
  };
  const marker = [created(`${incoming}_SUCCESS`, at.clock.now())];
  const arriving = notify === 'objects' ? nextObjects : (second: number) => (second === 0 ? marker : []);
  const passed = await passArrivals(countedTable(at, calls), files / PUTS_A_SECOND + 3, arriving);
  if (passed.left > 0) throw new Error(`${passed.left} notifications were not taken`);
  addRequests(calls, 'sqs request', passed.sqsRequests);
  addRequests(calls, 'lambda invocation', passed.invocations);
  addRequests(calls, 'lambda GB-second (arm)', (passed.invocationSeconds * ON_ARRIVAL_MEGABYTES) / 1_024);
  addRequests(calls, 's3 put or list', await pagesOfSettling(at, files, notify === 'markers'));
  return calls;
}

/** Pages that settle reads until it closes the batch. */
async function pagesOfSettling(at: Ground, files: number, hasMarker: boolean): Promise<number> {
  const incoming = bucketKeys.incoming(PIPELINE);
  let pages = 0;
  const lastModified = at.clock.now();
  async function* list(): AsyncGenerator<ListedObject> {
    const etag = '0'.repeat(32);
    pages += Math.ceil(files / KEYS_A_PAGE);
    for (let index = 0; index < files; index += 1)
      yield { key: `${incoming}${index}.jpg`, size: FILE_BYTES, etag, lastModified };
    if (hasMarker) yield { key: `${incoming}_SUCCESS`, size: 0, etag, lastModified };
  }
  let observation: IncomingLook | undefined;
  for (;;) {
    const deps = { ...at, store: { ...at.store, list } };
    const settled = await settleRun(deps, { runId: `${PIPELINE}-000001`, observation });
    if (settled.kind !== 'wait') return pages;
    observation = settled.observation ?? undefined;
    at.clock.set(new Date(settled.until));
  }
}

/** Reads and writes of the table by on-arrival; StartExecution of a name that runs costs nothing. */
function countedTable(at: Ground, calls: Map<RequestKind, number>): Ground {
  const { pipelines, runs } = at;
  const count = (kind: RequestKind) => addRequests(calls, kind, 1);
  return {
    ...at,
    pipelines: {
      ...pipelines,
      get: (name) => {
        count('dynamodb read');
        return pipelines.get(name);
      },
    },
    runs: {
      ...runs,
      get: (runId) => {
        count('dynamodb read');
        return runs.get(runId);
      },
      create: (run) => {
        count('dynamodb write');
        return runs.create(run);
      },
    },
  };
}
