/** The fakes keep the contracts that the adapters keep (test/integration/control-plane). */
import { fakeClock } from '../../fakes/clock.ts';
import { memoryExecutions } from '../../fakes/executions.ts';
import { memoryObjectStore } from '../../fakes/object-store.ts';
import { memoryRunStore } from '../../fakes/run-store.ts';
import { memorySchedules } from '../../fakes/schedules.ts';
import { executionsContract } from '../../suites/executions.ts';
import { objectStoreContract } from '../../suites/object-store.ts';
import { runStoreContract } from '../../suites/run-store.ts';
import { schedulesContract } from '../../suites/schedules.ts';

runStoreContract('the memory', () => Promise.resolve(memoryRunStore()));

objectStoreContract('the memory', () => Promise.resolve(memoryObjectStore(fakeClock())));

schedulesContract('the memory', () => {
  const schedules = memorySchedules();
  return Promise.resolve({
    schedules,
    read: (pipeline: string) => Promise.resolve(schedules.expressions.get(pipeline)),
  });
});

executionsContract('the memory', () => {
  const executions = memoryExecutions((name, input) => {
    const mode = typeof input === 'object' && input !== null && 'mode' in input ? input.mode : undefined;
    if (mode === 'ends') executions.end(name);
    if (mode === 'token') executions.wait(name, `token of ${name}`);
  });
  return Promise.resolve({
    executions,
    afterStop: 'stale',
    tokenOf: (name: string) => Promise.resolve(`token of ${name}`),
    stop: async (name: string) => {
      executions.end(name);
      await Promise.resolve();
    },
    until: async (name: string, status: 'running' | 'ended') => {
      if ((await executions.status(name)) !== status) throw new Error(`${name} is not ${status}`);
    },
    outputOf: (name: string) => Promise.resolve(executions.answers.get(`token of ${name}`)),
  });
});
