/**
 * npm run bench:months: what lists and sums cost after months of runs, in calls of DynamoDB and S3, bytes, milliseconds and
 * dollars, beside the bound of each.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { answer } from '../../functions/api/answer.ts';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { documentClient } from '../../functions/aws/shared/clients.ts';
import type { RunStatus } from '../../functions/records/run-records.ts';
import type { Stores } from '../../functions/records/stores.ts';
import { declarationOf, runOf } from '../../test/support/builders/records.ts';
import { clientConfiguration, startTestEmulator } from '../../test/support/emulator.ts';
import { makeStores } from '../../test/support/table.ts';
import { ground } from '../../test/support/world/ground.ts';

const USAGE = `npm run bench:months -- [OPTIONS]

Fills a table with ended runs, and prints what each look at them costs.

  --runs N        default 5000
  --pipelines N   default 200
  --help
`;

const schema = z.object({ runs: wholeNumber(1).default(5_000), pipelines: wholeNumber(1).default(200) });

const TABLE = 'months';
const MONTHS = 10;
const NOW = Date.UTC(2026, 10, 29);

/** us-east-1, on demand: https://aws.amazon.com/dynamodb/pricing/on-demand/ and https://aws.amazon.com/s3/pricing/ */
const USD_PER_READ_UNIT = 0.125e-6;
const USD_PER_GET = 0.4e-6;
/** API Gateway's HTTP API, and a Lambda function of 512 MB on arm64 for 60 ms with its request. */
const USD_PER_REQUEST = 1e-6 + 0.2e-6 + 0.5 * 0.06 * 13.3334e-6;

/** An open page: eight hours of 22 days. */
const POLLED_SECONDS = 8 * 22 * 3_600;

/** @param everySeconds of an open page's poll; absent where a person asks */
interface Look {
  readonly route: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly everySeconds?: number;
  readonly mostCalls: number;
  readonly mostKilobytes?: number;
}

const LOOKS: readonly Look[] = [
  { route: 'GET /runs', query: { limit: '60' }, everySeconds: 5, mostCalls: 4, mostKilobytes: 100 },
  { route: 'GET /pipelines', query: { limit: '50' }, everySeconds: 15, mostCalls: 1, mostKilobytes: 100 },
  { route: 'GET /runs', query: { limit: '50', status: 'failed' }, mostCalls: 7 },
  { route: 'GET /money', query: { month: '2026-11' }, mostCalls: 8 },
];

class Counted {
  calls = 0;
  gets = 0;
  bytes = 0;
  readUnits = 0;
}

/** Counts what a client's calls read, by the answers' own sizes. */
function countedStores(url: string, counted: Counted): Stores {
  const client = new DynamoDBClient(clientConfiguration(url));
  client.middlewareStack.add(
    (next) => async (args) => {
      const done = await next(args);
      const bytes = JSON.stringify(done.output).length;
      counted.calls += 1;
      counted.bytes += bytes;
      // Eventually consistent: half a unit for 4 KB.
      counted.readUnits += Math.ceil(bytes / 4_096) / 2;
      return done;
    },
    { step: 'initialize', name: 'counted' },
  );
  return dynamoStores(documentClient(client), TABLE);
}

async function fill({ pipelines, runs }: Stores, size: z.output<typeof schema>): Promise<void> {
  const name = (index: number): string => `pipeline-${String(index % size.pipelines).padStart(4, '0')}`;
  for (let index = 0; index < size.pipelines; index += 1)
    await pipelines.ensure(name(index), { firstBatch: 1, at: new Date(NOW).toISOString() });
  const stepMilliseconds = (MONTHS * 30 * 86_400_000) / size.runs;
  const make = async (index: number): Promise<void> => {
    const at = new Date(NOW - (size.runs - index) * stepMilliseconds).toISOString();
    const status: RunStatus = index % 20 === 0 ? 'failed' : 'succeeded';
    const pipeline = name(index);
    await runs.create(
      runOf(pipeline, 1 + Math.floor(index / size.pipelines), {
        createdAt: at,
        updatedAt: at,
        closedAt: at,
        status,
        declaration: declarationOf(pipeline),
      }),
    );
  };
  for (let first = 0; first < size.runs; first += 16)
    await Promise.all(
      Array.from({ length: Math.min(16, size.runs - first) }, (_, lane) => make(first + lane)),
    );
}

async function measure(url: string, { route, query = {}, ...look }: Look) {
  const counted = new Counted();
  const at = ground();
  const readText = at.store.readText.bind(at.store);
  at.store.readText = (key) => {
    counted.gets += 1;
    return readText(key);
  };
  const began = performance.now();
  const said = await answer(
    { ...at, ...countedStores(url, counted) },
    { route, parameters: {}, query, body: '' },
  );
  const calls = counted.calls + counted.gets;
  const kilobytes = Math.round(counted.bytes / 1_000);
  const usdPerLook = counted.readUnits * USD_PER_READ_UNIT + counted.gets * USD_PER_GET + USD_PER_REQUEST;
  const usdPerMonth = look.everySeconds && (POLLED_SECONDS / look.everySeconds) * usdPerLook;
  return {
    look: `${route}?${new URLSearchParams(query).toString()}`,
    status: said.status,
    calls,
    kilobytes,
    milliseconds: Math.round(performance.now() - began),
    'usd a month': usdPerMonth && Number(usdPerMonth.toFixed(3)),
    isWithin: calls <= look.mostCalls && kilobytes <= (look.mostKilobytes ?? Number.POSITIVE_INFINITY),
  };
}

await runCommand(USAGE, async (args) => {
  const size = readCommandLine(args, { schema }).values;
  const emulator = await startTestEmulator();
  try {
    await fill(await makeStores(emulator.url, TABLE), size);
    const measured = [];
    for (const look of LOOKS) {
      // The first one opens the connection.
      await measure(emulator.url, look);
      measured.push(await measure(emulator.url, look));
    }
    console.table(measured);
    return measured.every(({ isWithin }) => isWithin) ? 0 : 1;
  } finally {
    await emulator.stop();
  }
});
