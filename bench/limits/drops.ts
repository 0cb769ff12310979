/** Drops of data in the simulated region: the service's own rules and state machine, by a virtual clock. */
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import { type FunctionName, functions } from '../../functions/handlers/functions.ts';
import { type Drop, trainDrops } from '../../test/support/world/drops.ts';
import { type CaseOptions, type CaseResult, describedAs } from './case.ts';
import { addRequests, priced, type RequestKind, type Requests } from './lambda-prices.ts';
import { type ItemFiles, requestsOfOneItem } from './one-item.ts';

export interface DropCase {
  readonly drops: readonly Drop[];
  /** Of one item. */
  readonly files?: ItemFiles;
  /** What the drops cost beside: the simulation sends few events for each item. */
  readonly beside?: Requests;
  /** In place of the profile's. */
  readonly newAccountSlots?: number;
}

/** The default of `--param packers=`. */
const PACKERS = 100;
/** The simulation models these three. Their requests are counted by packing one item for real. */
const MODELLED = ['PlanShards', 'PackShards', 'SealDataset'];

export async function runDrops(given: DropCase, { profile, small }: CaseOptions): Promise<CaseResult> {
  const limits = limitsOf(profile);
  const fewSlots = profile === 'new-account' ? given.newAccountSlots : undefined;
  const drops = small
    ? given.drops.map((drop) => ({ ...drop, items: Math.ceil(drop.items / 10) }))
    : given.drops;
  const { runs, usage } = await trainDrops(
    {
      concurrentExecutions: fewSlots ?? limits.lambda.concurrentExecutions,
      packers: PACKERS,
      callSeconds: (call) =>
        call.startsWith('store.') ? limits.s3.latencySeconds : limits.dynamodb.latencySeconds,
    },
    drops,
  );
  const sealed = runs.flatMap(({ sealedSeconds }) => sealedSeconds ?? []);
  const requests = await requestsOfOneItem(given.files);
  const items = drops.reduce((sum, drop) => sum + drop.items, 0);
  const counted = new Map<RequestKind, number>();
  for (const [kind, count] of requests) addRequests(counted, kind, count * items);
  for (const [kind, count] of given.beside ?? []) addRequests(counted, kind, count);
  for (const [name, { count, seconds }] of usage.functions) {
    addRequests(counted, 'lambda invocation', count);
    addRequests(counted, 'lambda GB-second (arm)', (seconds * megabytesOf(name)) / 1_024);
  }
  addRequests(counted, 'state transition', usage.states + sum(usage.retries));
  for (const [call, count] of usage.calls) addRequests(counted, kindOf(call), count);
  const ends = runs.map(({ runId, status, sealedSeconds }) =>
    sealedSeconds === undefined ? `${runId} is ${status}, not sealed` : `sealed, ${status}`,
  );
  return {
    ok: sealed.length === runs.length && runs.every(({ status }) => status === 'succeeded'),
    outcome: [...new Set(ends)].join('; '),
    seconds: sealed.length === 0 ? undefined : Math.max(...sealed),
    mostSlots: usage.mostSlots,
    throttled: usage.throttled,
    retries: sum(usage.retries),
    requests: priced(counted),
  };
}

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((total, count) => total + count, 0);

const kebab = (name: string) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
const isFunction = (name: string): name is FunctionName => Object.hasOwn(functions, name);

/** @param name in the state machine, such as PackShards */
function megabytesOf(name: string): number {
  const folder = kebab(name);
  if (!isFunction(folder)) throw new Error(`there is no function ${folder}`);
  return describedAs(folder).memoryMegabytes;
}

const READS = /^(get|list|find|latest|since|read)/;
/** Not billed by the request. */
const FREE_PORTS = ['training', 'fleets', 'executions', 'schedules'];

/**
 * What a call of a port is on the bill; undefined: nothing, or counted elsewhere.
 * @param call such as `Settle store.readText`
 */
function kindOf(call: string): RequestKind | undefined {
  const [name = '', port = '', method = ''] = call.split(/[ .]/);
  if (FREE_PORTS.includes(port) || (port === 'store' && MODELLED.includes(name))) return undefined;
  if (port === 'store') return method.startsWith('read') ? 's3 get' : 's3 put or list';
  if (port === 'notifier') return 'event on the bus';
  return READS.test(method) ? 'dynamodb read' : 'dynamodb write';
}
