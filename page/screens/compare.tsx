/** The screen "Compare": curves of two to six runs over each other, and what differs between them. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { reportedTexts } from '../../client/amounts.ts';
import { CompareCurve, type CurveLine } from '../charts/compare-curve.tsx';
import { COMPARED_BY, type ComparedBy, differences, xOf } from '../model/compared-runs.ts';
import { dollarText, elapsedText } from '../model/format.ts';
import { Choice } from '../parts/choice.tsx';
import { RunLink } from '../parts/run-link.tsx';
import { numbers, Table } from '../parts/table.tsx';
import { Command } from '../parts/text.tsx';
import { address, setQuery } from '../state/address.ts';
import { type AnswerOf, client } from '../state/api.ts';

const MOST_RUNS = 6;
const POINTS = 500;

interface Read {
  readonly view: AnswerOf<'getRun'>;
  readonly series: AnswerOf<'getSeries'>['series'];
}

/** Runs of the address that were read, in its order, and why others were not. */
function useRunsOf(names: readonly string[]) {
  const known = useSignal<ReadonlyMap<string, Read | string>>(new Map());
  useEffect(() => {
    for (const runId of names)
      if (!known.value.has(runId))
        void readRun(runId).then((read) => {
          known.value = new Map([...known.value, [runId, read]]);
        });
  }, [names.join(' ')]);
  return names.flatMap((name) => {
    const read = known.value.get(name);
    return read === undefined ? [] : [{ name, read }];
  });
}

async function readRun(runId: string): Promise<Read | string> {
  const [run, series] = await Promise.all([
    client.call('getRun', { runId }),
    client.call('getSeries', { runId, points: POINTS }),
  ]);
  if (run.kind !== 'ok') return run.kind === 'refused' ? run.message : 'the API gives no answer';
  return { view: run.body, series: series.kind === 'ok' ? series.body.series : [] };
}

export function CompareScreen() {
  const { query } = address.value;
  const names = [...new Set((query.get('runs') ?? '').split(',').filter(Boolean))].slice(0, MOST_RUNS);
  const by = COMPARED_BY.find((each) => each === query.get('x')) ?? 'step';
  const all = useRunsOf(names);
  const runs = all.flatMap(({ read }) => (typeof read === 'string' ? [] : [read]));
  const setNames = (next: readonly string[]): void => setQuery({ runs: next.join(',') });
  return (
    <>
      <h1>Compare</h1>
      <Chosen names={names} onChange={setNames} />
      {all.map(
        ({ name, read }) =>
          typeof read === 'string' && <p key={name} class="problem">{`${name}: ${read}`}</p>,
      )}
      {runs.length === 0 ? (
        <p>Add two to six runs by their ids; the link "Compare" of a run begins with it.</p>
      ) : (
        <>
          <div class="tools" role="group" aria-label="axis">
            <Choice word="x" values={COMPARED_BY} chosen={by} text={(each) => `by ${each}`} />
          </div>
          <Curves runs={runs} by={by} />
          <Outcomes runs={runs} />
          <Differences runs={runs} />
        </>
      )}
      <Command text={`npx tidewheel compare ${names.join(' ') || 'RUN RUN'}`} />
    </>
  );
}

interface ChosenProps {
  readonly names: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}

function Chosen({ names, onChange }: ChosenProps) {
  const text = useSignal('');
  const add = (event: Event): void => {
    event.preventDefault();
    if (text.value.trim() !== '') onChange([...names, text.value.trim()]);
    text.value = '';
  };
  return (
    <form class="tools" onSubmit={add}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class="small"
          aria-label={`take ${name} out`}
          onClick={() => onChange(names.filter((each) => each !== name))}
        >
          {`${name} ×`}
        </button>
      ))}
      {names.length < MOST_RUNS && (
        <label>
          run{' '}
          <input
            id="find"
            value={text.value}
            placeholder="digits-000001"
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
      )}
      <button type="submit" class="small">
        add
      </button>
    </form>
  );
}

interface RunsProps {
  readonly runs: readonly Read[];
}

/** Of the series that the most runs have. */
function Curves({ runs, by }: RunsProps & { readonly by: ComparedBy }) {
  const names = [...new Set(runs.flatMap(({ series }) => series.map(({ name }) => name)))];
  const wanted = address.value.query.get('series') ?? names.find((name) => /loss/.test(name)) ?? names[0];
  if (wanted === undefined) return <p class="quiet">None of them has printed a number yet.</p>;
  const lines: CurveLine[] = runs.flatMap(({ view, series }) => {
    const own = series.find(({ name }) => name === wanted);
    if (own === undefined) return [];
    return [{ name: view.run.runId, points: xOf(own, view, by) }];
  });
  return (
    <>
      <label>
        series{' '}
        <select value={wanted} onChange={({ currentTarget }) => setQuery({ series: currentTarget.value })}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <CompareCurve name={wanted} by={by} lines={lines} />
    </>
  );
}

const Outcomes = ({ runs }: RunsProps) => (
  <>
    <h2>Outcomes</h2>
    <Table
      caption="outcomes"
      columns={['run', 'state', ...numbers('took', 'cost', 'On-Demand would be', 'interruptions'), 'metrics']}
      rows={runs.map(({ view: { run, report, money } }) => [
        <RunLink runId={run.runId} />,
        run.status,
        report === undefined ? '' : elapsedText(run.createdAt, report.finishedAt),
        dollarText(money.usd),
        dollarText(money.onDemandUsd),
        report?.interruptions ?? '',
        (report === undefined ? [] : reportedTexts(report)).join(', '),
      ])}
    />
  </>
);

function Differences({ runs }: RunsProps) {
  const rows = differences(runs.map(({ view }) => view.run));
  return (
    <>
      <h2>What differs</h2>
      {rows.length === 0 ? (
        <p class="quiet">Nothing that was declared, and they read the same data.</p>
      ) : (
        <Table
          caption="what differs"
          columns={['field', ...runs.map(({ view }) => view.run.runId)]}
          rows={rows.map(({ field, values }) => [field, ...values])}
        />
      )}
    </>
  );
}
