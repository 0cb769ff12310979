/** A placement, decided again with something changed. Nothing is started. */
import { type Signal, useSignal } from '@preact/signals';
import { Disclosure } from '../../parts/disclosure.tsx';
import { Field } from '../../parts/field.tsx';
import { RefusalText } from '../../parts/text.tsx';
import { type AnswerOf, client, inWords } from '../../state/api.ts';
import { DecisionTable } from './decision.tsx';

const PURCHASE = ['spot', 'on-demand', 'spot-then-on-demand'] as const;

type Change = Readonly<Record<'deadlineHours' | 'budgetUsd' | 'instanceTypes' | 'purchaseOption', string>>;
const UNCHANGED: Change = { deadlineHours: '', budgetUsd: '', instanceTypes: '', purchaseOption: '' };

interface WhatIfProps {
  readonly runId: string;
  readonly attempt: number;
}

export function WhatIfForm({ runId, attempt }: WhatIfProps) {
  const change = useSignal(UNCHANGED);
  const decided = useSignal<AnswerOf<'getWhatIf'> | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const ask = async (): Promise<void> => {
    const parameters = { runId, attempt: String(attempt), ...given(change.value) };
    const answer = inWords(await client.call('getWhatIf', parameters));
    refused.value = answer.kind === 'refused' ? answer.message : undefined;
    decided.value = answer.kind === 'ok' ? answer.body : undefined;
  };
  return (
    <Disclosure id="what-if" class="steering" summary="What if…">
      {() => (
        <>
          <p class="quiet">
            The same question as of that moment, with something changed. Nothing is started.
          </p>
          <Fields change={change} onAsk={() => void ask()} />
          <RefusalText text={refused.value} />
          {decided.value !== undefined && <Otherwise decided={decided.value} />}
        </>
      )}
    </Disclosure>
  );
}

function Fields({ change, onAsk }: { readonly change: Signal<Change>; readonly onAsk: () => void }) {
  const set = (name: keyof Change, value: string): void => {
    change.value = { ...change.value, [name]: value };
  };
  const field = (name: keyof Change, text: string, mode: 'decimal' | 'text') => (
    <Field text={text} mode={mode} value={change.value[name]} onInput={(value) => set(name, value)} />
  );
  return (
    <p class="tools">
      {field('deadlineHours', 'deadline in hours', 'decimal')}
      {field('budgetUsd', 'budget in USD', 'decimal')}
      {field('instanceTypes', 'types, with commas', 'text')}
      <label>
        purchase option{' '}
        <select
          value={change.value.purchaseOption}
          onChange={({ currentTarget }) => set('purchaseOption', currentTarget.value)}
        >
          <option value="">as declared</option>
          {PURCHASE.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <button type="button" onClick={onAsk}>
        decide
      </button>
    </p>
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
  <div role="status">
    <DecisionTable decision={changed} />
    {notes.map((note) => (
      <p key={note} class="quiet">
        {note}
      </p>
    ))}
  </div>
);
