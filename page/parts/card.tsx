/** The screen, the card and what stands in its place while nothing is known, a vital figure, and the row of an event. */
import type { ComponentChildren as Children } from 'preact';
import { wordsOf } from '../model/format.ts';
import type { ReadState } from '../state/readings.ts';
import { Command, Tabs, Time } from './text.tsx';

type Slots<Name extends string> = Readonly<Partial<Record<Name, Children>>>;
type ReadProps<T> = Readonly<{ of: ReadState<T>; children: (body: T) => Children }>;

/** `pipeline` has tabs, others are in `tabs`; `leftOut` says what the service cannot read; `command` says the same in a shell. */
type FrameProps<T> = ReadProps<T> &
  Slots<'beside' | 'tabs' | 'tools'> &
  Readonly<{ title: string; command: string; leftOut?: readonly string[] | undefined }> &
  Readonly<{ pipeline?: string | undefined }>;

const TABS = ['', 'models', 'data', 'probes'];

export const Frame = <T,>({ title, pipeline, leftOut, of, command, children, ...head }: FrameProps<T>) => (
  <>
    <div class="row">
      <h1>{title}</h1>
      {head.beside}
      <span class="row end">{head.tools}</span>
    </div>
    {pipeline !== undefined && (
      <Tabs
        label={`of ${pipeline}`}
        tabs={TABS.map((to) => [wordsOf(to || 'runs'), ['pipelines', pipeline, to]])}
      />
    )}
    {head.tabs}
    {[...new Set(leftOut)].map((each) => (
      <p key={each} class="problem">{`left out: ${each}`}</p>
    ))}
    <Read of={of}>{children}</Read>
    <Command of={command} />
  </>
);

/** `kind`: the class of what a section that is one card holds. `isFigure`: it is part of another, such as a chart of many. */
export type SectionProps = Slots<'note' | 'tools' | 'children'> &
  Readonly<{ title: string; kind?: string; isFigure?: true }>;

/** A heading over cards, or in one. */
export function Section({ title, note, tools, isFigure, kind, children }: SectionProps) {
  const [Frame, Title] = isFigure ? (['figure', 'h3'] as const) : (['section', 'h2'] as const);
  return (
    <Frame class={kind ? `card pad ${kind}` : 'stack'} aria-label={title}>
      <div class="row">
        <Title title={title}>{title}</Title>
        <span class="quiet" title={typeof note === 'string' ? note : undefined}>
          {note}
        </span>
        <span class="row end">{tools}</span>
      </div>
      {children}
    </Frame>
  );
}

/** Nothing is there, which is known. */
export const Empty = ({ children }: Slots<'children'>) => <div class="card stack empty">{children}</div>;

export const Skeleton = () => (
  <div class="card" role="status" aria-label="Reading the API">
    {[86, 57, 73, 44, 60, 76].map((width) => (
      <span key={width} class="bone raised" style={{ width: `${width}%` }} />
    ))}
  </div>
);

/** Says nothing before it is known: a reading is open, or was refused, for which the head has the reason. */
export function Read<T>({ of: { body, refusal }, children }: ReadProps<T>) {
  if (body !== undefined) return <>{children(body)}</>;
  return refusal === undefined ? <Skeleton /> : null;
}

/** `beside` follows the figure, `below` and `note` stand under it. */
type Vital = Slots<'label' | 'figure' | 'beside' | 'below' | 'note'>;

/** What one look should tell. */
export const Vitals = ({ label, of }: Readonly<{ label: string; of: readonly Vital[] }>) => (
  <section class="card vitals" aria-label={label}>
    {of.map((vital, place) => (
      <div key={place} class="pad">
        <p class="label">{vital.label}</p>
        <b>{vital.figure}</b>
        <span class="quiet">{vital.beside}</span>
        {vital.below}
        <p class="quiet">{vital.note}</p>
      </div>
    ))}
  </section>
);

type EventRowProps = Slots<'bold' | 'children'> &
  Readonly<Partial<Record<'at' | 'state' | 'text' | 'more', string | undefined>>>;

/** @param state of its dot @param more lines that unfold, such as a traceback */
export const EventRow = ({ at, state, bold, text, more, children }: EventRowProps) => (
  <li>
    {at && <Time at={at} />}
    <span class={`dot is-${state}`} />
    <p>
      <strong>{bold}</strong> {text}
    </p>
    <span class="row">{children}</span>
    {more && (
      <details>
        <summary>traceback</summary>
        <pre tabIndex={0}>{more}</pre>
      </details>
    )}
  </li>
);
