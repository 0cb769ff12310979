/** The screen "Models": which model of each pipeline is in use; of one pipeline all of them, and what changed. */
import { signedText } from '../../../client/amounts.ts';
import { Sparkline } from '../../charts/bars.tsx';
import { LineageChart } from '../../charts/lineage.tsx';
import { shortName, shortNumber } from '../../model/format.ts';
import { type Drop, decidedText, lineageOf, type ModelView } from '../../model/lineage.ts';
import { Empty, Frame, Read, Section, Vitals } from '../../parts/card.tsx';
import { numbers, Table, TableSection, wide } from '../../parts/table.tsx';
import { Command, Decided, ModelLink, Pill, RowLink, RunLink, Time } from '../../parts/text.tsx';
import { address, hrefOf, modelsHref } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import type { Overview } from '../../state/overview.ts';
import { useRuns } from '../../state/pages.ts';
import { useReading } from '../../state/readings.ts';
import { Comparison } from './comparison.tsx';

const POLL_SECONDS = 15;
const MORE_COLUMNS = wide('its metric over drops', 'since', 'why');
/** As many as are on record. */
const DROPS = 200;

export const ModelsScreen = ({ overview: { models } }: Readonly<{ overview: Overview }>) => (
  <Frame title="Models" leftOut={models.body?.unreadable} of={models} command="model ls PIPELINE">
    {({ models: all, nextToken, unreadable = [] }) =>
      all.length === 0 ? (
        unreadable.length === 0 && <Empty>There is no pipeline yet.</Empty>
      ) : (
        <>
          <Table
            caption="models in use"
            columns={['pipeline', 'in use', 'waits for you', ...MORE_COLUMNS]}
            rows={all.map(({ pipeline, current, waiting, metric, means }) => [
              <strong>
                <RowLink name={pipeline} href={modelsHref(pipeline)} />
              </strong>,
              current === undefined ? 'none' : <ModelLink model={current} />,
              waiting && <ModelLink model={waiting} />,
              <Sparkline label={`${metric} of the last models`} values={means} />,
              current && <Time at={current.at} />,
              current && <Decided model={current} />,
            ])}
          />
          {nextToken !== undefined && <a href={hrefOf(['models'], { after: nextToken })}>more pipelines</a>}
        </>
      )
    }
  </Frame>
);

export function ModelsOfPipeline({ pipeline }: Readonly<{ pipeline: string }>) {
  const models = useReading('getModels', { name: pipeline }, () => POLL_SECONDS);
  const runs = useRuns({ limit: DROPS, pipeline }, () => POLL_SECONDS);
  const frame = { pipeline, leftOut: runs.unreadable, of: models, command: `model ls ${pipeline}` };
  return (
    <Frame title={pipeline} {...frame}>
      {(known) => (
        <Read of={runs}>{(all) => <Models known={known} {...lineageOf(known.models, all)} />}</Read>
      )}
    </Frame>
  );
}

type Known = AnswerOf<'getModels'>;
type ModelsProps = Readonly<{ known: Known }> & ReturnType<typeof lineageOf>;

function Models({ known, metric, drops }: ModelsProps) {
  const { pipeline, current, models, number } = known;
  const left = drops.filter(({ hasModel }) => hasModel).toReversed();
  const waiting = models[0]?.state === 'candidate' ? models[0] : undefined;
  const wanted = address.value.query.get('model') ?? (waiting ?? current ?? left[0])?.runId;
  if (wanted === undefined)
    return (
      <Empty>
        <p>No run has left a model yet. With this in the declaration of {pipeline}, the first is in use:</p>
        <Command text="promote: always" />
      </Empty>
    );
  // Models that are older than the first decision are not drawn.
  const other: Drop = { runId: wanted, at: '', state: 'unrecorded', hasModel: true };
  const chosen = left.find(({ runId }) => runId === wanted) ?? other;
  const note = `${metric ?? 'models'}; a bar is the 95 % interval of the difference to the model in use then`;
  return (
    <>
      <Vitals label="the model in use" of={vitalsOf(known, waiting, metric)} />
      <Section title="Drop by drop" note={note} kind="stack">
        <LineageChart {...{ drops, metric, pipeline }} chosen={wanted} />
      </Section>
      <Comparison key={`${wanted} ${number}`} pipeline={pipeline} drop={chosen} />
      <TableSection
        title="All models"
        note="newest first"
        columns={[
          'run',
          'state',
          ...numbers(metric ?? 'metric'),
          ...wide('better by', 'began from', 'since', 'why'),
        ]}
        rows={left.map((drop) => rowOf(pipeline, drop))}
        chosen={left.indexOf(chosen)}
      />
    </>
  );
}

const comparedText = ({ better, interval, against = '' }: NonNullable<ModelView['judged']>) =>
  better !== undefined && `${signedText(better, interval)} against ${shortName(against)}`;

const STATES = ['former', 'candidate', 'rejected'];

function vitalsOf({ current, models }: Known, waiting: ModelView | undefined, metric = 'metric') {
  const { judged } = current ?? {};
  const count = (state: string): string => `${models.filter((each) => each.state === state).length} ${state}`;
  const since = current && [<Time at={current.at} />, `, ${decidedText(current)}`];
  const run = current ? <RunLink runId={current.runId} /> : 'none';
  const name = waiting && shortName(waiting.runId);
  return [
    { label: 'In use', figure: run, note: since ?? 'promote one' },
    {
      label: metric,
      figure: judged?.mean === undefined ? '–' : shortNumber(judged.mean),
      note: judged && comparedText(judged),
    },
    { label: 'Waits for you', figure: name ?? 'none', note: waiting && decidedText(waiting) },
    { label: 'On record', figure: models.length, note: STATES.map(count).join(', ') },
  ];
}

function rowOf(pipeline: string, { runId, state, value, model, from }: Drop) {
  const { better, interval } = model?.judged ?? {};
  return [
    <RowLink name={runId} href={modelsHref(pipeline, runId)} />,
    <Pill status={state} />,
    value !== undefined && shortNumber(value),
    better !== undefined && <span class="whole">{signedText(better, interval)}</span>,
    from && <span class="whole">{shortName(from)}</span>,
    model && <Time at={model.at} />,
    model && <Decided model={model} />,
  ];
}
