/** One model beside the one that was in use: what changed, and what a person decides. */
import { bytesText, signedText } from '../../../client/amounts.ts';
import { isFalling } from '../../model/curve.ts';
import { shortName, shortNumber } from '../../model/format.ts';
import type { Drop } from '../../model/lineage.ts';
import { Read, Section } from '../../parts/card.tsx';
import { DialogButton } from '../../parts/controls.tsx';
import { numbers, Table, TableSection } from '../../parts/table.tsx';
import { Command, Facts, RunLink, RunState, Time } from '../../parts/text.tsx';
import { type AnswerOf, ask } from '../../state/api.ts';
import { readAll, useReading } from '../../state/readings.ts';

type Shown = AnswerOf<'getModel'>;
type JudgementProps = Readonly<{ judgement: NonNullable<Shown['judgement']> }>;

const FOLLOW = 'Programs that read models/current.json take it at their next look.';
/** What a person can decide, and what follows, which is said before it. */
const DECISIONS = {
  rollback: ['Roll back', `The former model is in use again, and this one is rejected. ${FOLLOW}`],
  reject: ['Reject', 'It is not to be used, and no later run begins from it.'],
  promote: ['Promote', `It is in use from now on, instead of the present one. ${FOLLOW}`],
} as const;
const OF_STATE = { current: ['rollback'], rejected: ['promote'], other: ['reject', 'promote'] } as const;

type ComparisonProps = Readonly<{ pipeline: string; drop: Drop }>;

export function Comparison({ pipeline: name, drop: { runId, state } }: ComparisonProps) {
  const shown = useReading('getModel', { runId });
  const possible = OF_STATE[state === 'current' || state === 'rejected' ? state : 'other'];
  const tools = possible.map((decision) => {
    const [text, then] = DECISIONS[decision];
    const call = ({ reason = '' }) => ask('chooseModel', { name, body: { decision, runId, reason } });
    const kind = decision === 'promote' ? 'primary' : undefined;
    const button = { text: `${text}…`, title: `${text} the model of ${runId}`, kind } as const;
    return (
      <DialogButton key={decision} {...button} act={{ text, call, onDone: readAll }}>
        {() => (
          <>
            <p>{then}</p>
            <textarea rows={4} name="reason" aria-label="reason" placeholder="Why? Others read it." />
          </>
        )}
      </DialogButton>
    );
  });
  return (
    <Section title="What changed" note={<RunState runId={runId} status={state} />} tools={tools}>
      <Read of={shown}>{(body) => <Changes runId={runId} {...body} />}</Read>
    </Section>
  );
}

function Changes({ runId, judgement, ...archived }: Shown & Readonly<{ runId: string }>) {
  const worst = judgement?.worst ?? [];
  return (
    <>
      {judgement && <Differences judgement={judgement} />}
      {judgement?.difference && (
        <div class="columns">
          {(judgement.byLabel ?? []).length > 0 && <Classes judgement={judgement} />}
          <TableSection
            title="What got worse"
            note="ten at most"
            columns={['sample', 'class', ...numbers('now', 'before')]}
            rows={worst.map(({ key, label, candidate, current }) => {
              return [<code>{key}</code>, label, shortNumber(candidate), shortNumber(current)];
            })}
          />
        </div>
      )}
      <Archive runId={runId} {...archived} />
    </>
  );
}

type ArchiveProps = Omit<Shown, 'judgement' | 'current'> & Readonly<{ runId: string }>;

function Archive({ runId, uri, startedFrom: from, model }: ArchiveProps) {
  const begun = from?.runId ? <RunLink runId={from.runId} /> : (from?.uri ?? 'nothing');
  const size = model?.bytes !== undefined && bytesText(model.bytes);
  const items = { 'began from': begun, size, 'SHA-256': model?.digest, archive: uri };
  return (
    <div class="card pad stack">
      <p>
        {model ? <Time at={model.at} /> : 'It is not on record: nothing was decided. It can be promoted.'}
        {model && `, ${model.by}: ${model.reason}`}
      </p>
      <Facts items={Object.entries(items)} />
      <Command of={`model get ${runId}`} />
    </div>
  );
}

/** All samples, those that the other model knew, and those that came since. */
function Differences({ judgement }: JudgementProps) {
  const { difference, earlier, fresh, sides, metric, against = '' } = judgement;
  if (difference === undefined) return null;
  const all = { ...difference, samples: difference.pairs, mean: difference.candidate, sides };
  const parts = Object.entries({ all, 'known before': earlier, 'new since': fresh });
  const known = parts.flatMap(([name, part]) => (part === undefined ? [] : [{ name, ...part }]));
  const reach = Math.max(
    ...known.flatMap(({ better = 0, interval = [] }) => [better, ...interval].map(Math.abs)),
  );
  const figures = numbers(metric, shortName(against), 'samples', 'gained', 'lost');
  return (
    <Table
      caption={`${metric} against ${against}`}
      columns={['', 'better by', '95 %', ...figures]}
      rows={known.map(({ name, samples, mean, current, better, interval, sides: part }) => [
        name,
        better !== undefined && <strong class="whole">{signedText(better, interval)}</strong>,
        better !== undefined && <Reach better={better} ends={interval} reach={reach} />,
        shortNumber(mean),
        current !== undefined && shortNumber(current),
        samples.toLocaleString(),
        part?.gained,
        part?.lost,
      ])}
    />
  );
}

function Classes({ judgement: { metric, mode, byLabel = [] } }: JudgementProps) {
  const sign = isFalling(metric, mode) ? -1 : 1;
  const rows = byLabel.map((each) => ({ ...each, better: sign * (each.candidate - each.current) }));
  const reach = Math.max(...rows.map(({ better }) => Math.abs(better)));
  return (
    <TableSection
      title="By class"
      columns={['class', ...numbers('samples', 'now', 'before'), 'better by']}
      rows={rows.map(({ label, samples, candidate, current, better }) => {
        const bar = <Reach better={better} ends={[0, better]} reach={reach} />;
        return [label, samples.toLocaleString(), shortNumber(candidate), shortNumber(current), bar];
      })}
    />
  );
}

type ReachProps = Readonly<{ better: number; ends: readonly number[] | undefined; reach: number }>;

/** Right of the middle is better. @param ends absent: few samples show nothing @param reach of either side */
function Reach({ better, ends = [], reach }: ReachProps) {
  const x = (value: number): number => 60 + (value / (reach || 1)) * 54;
  const [low = better, high = better] = ends;
  // An interval over 0 shows nothing.
  const isShown = ends.length > 0 && low + high !== 0 && low * high >= 0;
  const state = !isShown ? '' : low + high > 0 ? 'is-succeeded' : 'is-failed';
  const from = Math.min(x(low), x(high));
  return (
    <svg class={state} width={120} height={14} role="img" aria-label={signedText(better)}>
      <path stroke="var(--waits)" d="M60 0V14" />
      <rect x={from} y={4} width={Math.max(x(low), x(high)) - from} height={6} rx={3} opacity={0.35} />
      <circle cx={x(better)} cy={7} r={4} />
    </svg>
  );
}
