/** The words of statemachines/run.ts: `npm run check` fails where a line below is not the error that it announces. */
import { expect, it } from 'vitest';
import { on, states, task, UNAVAILABLE } from '../../../statemachines/compose.ts';

it('refuses to compile a state that leads nowhere', () => {
  const { States } = states('Settle', {
    // @ts-expect-error: there is no state Reprot
    Settle: task('settle', 'Closes the batch.', { next: 'Reprot' }),
    // @ts-expect-error: there is no state Reprot
    Judge: task('judge', 'Decides.', { catch: [on(UNAVAILABLE, 'Reprot')], next: 'Report' }),
    Report: task('report', 'Reports.', {}),
  });
  expect(Object.keys(States)).not.toContain(States.Settle.Next);
  expect(Object.keys(States)).not.toContain(States.Judge.Catch?.[0]?.Next);
});

it('refuses to compile a task without a function', () => {
  // @ts-expect-error: there is no function repport
  expect(() => task('repport', 'Reports.', {})).toThrow(TypeError);
});
