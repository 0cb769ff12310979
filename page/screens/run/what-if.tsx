/** A placement, decided again with something changed. Nothing is started. */
import { useSignal } from '@preact/signals';
import { Action, fieldOf, SendButton } from '../../parts/controls.tsx';
import { type AnswerOf, client, inWords } from '../../state/api.ts';
import { DecisionTable } from './decision.tsx';

const PURCHASE = ['spot', 'on-demand', 'spot-then-on-demand'] as const;

type Change = Readonly<Record<'deadlineHours' | 'budgetUsd' | 'instanceTypes' | 'purchaseOption', string>>;
const UNCHANGED: Change = { deadlineHours: '', budgetUsd: '', instanceTypes: '', purchaseOption: '' };

interface WhatIfProps {
  readonly runId: string;
  readonly attempt: number;
}

export const WhatIfForm = (props: WhatIfProps) => (
  <div class="tools">
    <Action text="What if…" title="What if…" isWide>
      {() => <Form {...props} />}
    </Action>
  </div>
);

function Form({ runId, attempt }: WhatIfProps) {
  const change = useSignal(UNCHANGED);
  const decided = useSignal<AnswerOf<'getWhatIf'> | undefined>(undefined);
  const field = fieldOf(change);
  const ask = async () =>
    inWords(await client.call('getWhatIf', { runId, attempt: String(attempt), ...given(change.value) }));
  return (
    <>
      <p class="quiet">The same question as of that moment, with something changed. Nothing is started.</p>
      <div class="tools">
        {field('deadlineHours', 'deadline in hours', { mode: 'decimal' })}
        {field('budgetUsd', 'budget in USD', { mode: 'decimal' })}
        {field('instanceTypes', 'types, with commas', { mode: 'text' })}
        <label>
          purchase option{' '}
          <select
            value={change.value.purchaseOption}
            onChange={({ currentTarget }) =>
              (change.value = { ...change.value, purchaseOption: currentTarget.value })
            }
          >
            <option value="">as declared</option>
            {PURCHASE.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <SendButton text="Decide" kind="primary" call={ask} onDone={(body) => (decided.value = body)} />
      </div>
      {decided.value !== undefined && <Otherwise decided={decided.value} />}
    </>
  );
}

/** What the reader has filled in. */
function given({ deadlineHours, budgetUsd, instanceTypes, purchaseOption }: Change) {
  const option = PURCHASE.find((each) => each === purchaseOption);
  return {
    ...(deadlineHours !== '' && { deadlineHours: Number(deadlineHours) }),
    ...(budgetUsd !== '' && { budgetUsd: Number(budgetUsd) }),
    ...(instanceTypes !== '' && { instanceTypes: instanceTypes.replaceAll(' ', '') }),
    ...(option !== undefined && { purchaseOption: option }),
  };
}

export const Otherwise = ({ decided: { changed, notes } }: { readonly decided: AnswerOf<'getWhatIf'> }) => (
  <div role="status" class="stack">
    <DecisionTable decision={changed} />
    {notes.map((note) => (
      <p key={note} class="quiet">
        {note}
      </p>
    ))}
  </div>
);
