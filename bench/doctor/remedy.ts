/** A workload with a remedy taken. What a remedy is worth comes from the workload, not from the forecast. */
import type { Change } from '../../functions/core/doctor/verdict.ts';
import { type Played, play, priced, speedRatio } from './simulate.ts';
import type { Workload } from './workload.ts';

const SHARD_BYTES = 256e6;
/** What a helper's core is worth differs from network to network. */
const HELPER_WORTH = 0.85;
/** The copy to host memory, as a share of a save that blocks. */
const COPY = 0.05;

export function playWith(workload: Workload, change: Change): Played {
  if (change.kind !== 'helpers') return play(changed(workload, change));
  const { facts, usdPerSecond } = priced(change.type);
  const cores = HELPER_WORTH * change.nodes * facts.vcpu;
  const helped = { ...workload, helperCores: cores, workers: workload.workers + Math.round(cores) };
  return play(helped, change.nodes * usdPerSecond);
}

function changed(workload: Workload, change: Exclude<Change, { kind: 'helpers' }>): Workload {
  switch (change.kind) {
    case 'input-mode':
      return { ...workload, inputMode: change.inputMode };
    case 'pack':
      return {
        ...workload,
        data: { ...workload.data, files: Math.ceil(workload.data.bytes / SHARD_BYTES) },
      };
    case 'image':
      return { ...workload, installSeconds: 0 };
    case 'workers':
      return { ...workload, workers: change.workers };
    case 'out-of-order':
      return { ...workload, inOrder: false };
    case 'instance-type':
      return onType(workload, change.type);
    case 'prepare-when-packing':
      return {
        ...workload,
        batch: { ...workload.batch, cpuSeconds: workload.batch.cpuSeconds * (1 - workload.preparable) },
      };
    case 'save-in-background':
      return { ...workload, save: { ...workload.save, seconds: workload.save.seconds * COPY } };
    case 'compress-exchange':
      return { ...workload, exchange: { ...workload.exchange, bytes: workload.exchange.bytes / 2 } };
    case 'replace-host':
      return {
        ...workload,
        hosts: workload.hosts.map((factor, host) => (host === change.host ? 1 : factor)),
      };
    default:
      return change satisfies never;
  }
}

/** The same work on another type: its workers follow its cores where they followed them before. */
function onType(workload: Workload, type: string): Workload {
  const [before, after] = [priced(workload.type).facts, priced(type).facts];
  const follows = workload.workers >= before.vcpu - 1;
  const same = before.accelerator === after.accelerator;
  const ratio = speedRatio(workload.type, type) * workload.fit;
  return {
    ...workload,
    type,
    workers: follows ? Math.max(1, after.vcpu - 1) : workload.workers,
    gpuSeconds: same ? workload.gpuSeconds : workload.gpuSeconds / ratio,
  };
}
