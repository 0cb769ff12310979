/** The fakes keep the contracts that the adapters keep (test/integration/control-plane). */

import { executionsContract } from '../../support/contracts/executions.ts';
import { objectStoreContract } from '../../support/contracts/object-store.ts';
import { schedulesContract } from '../../support/contracts/schedules.ts';
import { storesContract } from '../../support/contracts/stores.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryExecutions } from '../../support/fakes/executions.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { memorySchedules } from '../../support/fakes/schedules.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

storesContract('the memory', () => Promise.resolve(memoryStores()));

objectStoreContract('the memory', () => Promise.resolve(memoryObjectStore(fakeClock())));

schedulesContract('the memory', () => {
  const schedules = memorySchedules();
  return Promise.resolve({
    schedules,
    read: (pipeline: string) => Promise.resolve(schedules.expressions.get(pipeline)),
  });
});

executionsContract('the memory', () => {
  const executions = memoryExecutions((name, { pipeline }) => {
    if (pipeline === 'ends') executions.end(name);
    if (pipeline === 'held') executions.end(name, 'held');
    if (pipeline === 'token') executions.wait(name, `token of ${name}`);
  });
  return Promise.resolve({
    executions,
    afterStop: 'stale',
    tokenOf: (name: string) => Promise.resolve(`token of ${name}`),
    stop: async (name: string) => {
      executions.end(name);
      await Promise.resolve();
    },
    until: async (name: string, status: 'running' | 'ended' | 'held') => {
      if ((await executions.status(name)) !== status) throw new Error(`${name} is not ${status}`);
    },
    outputOf: (name: string) => Promise.resolve(executions.answers.get(`token of ${name}`)),
  });
});
