/** The screen, the card and what stands in its place while nothing is known, a vital figure, and the row of an event. */
import type { ComponentChildren } from 'preact';
import { Command, Tabs, Time } from './text.tsx';

type Children = ComponentChildren;
type Reading<T> = Readonly<{ body: T | undefined; refusal: string | undefined }>;

/** `pipeline` has tabs, others are in `tabs`; `leftOut` says what the service cannot read; `command` says the same in a shell. */
type FrameProps<T> = Readonly<{
  title: string;
  beside?: Children;
  pipeline?: string | undefined;
  tabs?: Children;
  tools?: Children;
  leftOut?: readonly string[] | undefined;
  of: Reading<T>;
  command: string;
  children: (body: T) => Children;
}>;

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
        tabs={['Runs', 'Models', 'Data', 'Probes'].map((text) => [
          text,
          ['pipelines', pipeline, ...(text === 'Runs' ? [] : [text.toLowerCase()])],
        ])}
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

/** `kind`: the class of a section that is one card. `isFigure`: it is part of another, such as a chart of many. */
export type SectionProps = Readonly<{
  title: string;
  note?: Children;
  tools?: Children;
  kind?: string;
  isFigure?: true;
}>;

/** A heading over cards, or in one. */
export function Section(props: SectionProps & Readonly<{ children: Children }>) {
  const { title, note, isFigure, kind = 'stack' } = props;
  const [Frame, Title] = isFigure ? (['figure', 'h3'] as const) : (['section', 'h2'] as const);
  return (
    <Frame class={kind} aria-label={title}>
      <div class="row">
        <Title title={title}>{title}</Title>
        <span class="quiet" title={typeof note === 'string' ? note : undefined}>
          {note}
        </span>
        <span class="row end">{props.tools}</span>
      </div>
      {props.children}
    </Frame>
  );
}

/** Nothing is there, which is known. */
export const Empty = ({ children }: Readonly<{ children: Children }>) => (
  <div class="card stack empty">{children}</div>
);

const BONES = [86, 57, 73, 44, 60, 76];

export const Skeleton = () => (
  <div class="card" role="status" aria-label="Reading the API">
    {BONES.map((width) => (
      <span key={width} class="bone" style={{ width: `${width}%` }} />
    ))}
  </div>
);

/** Says nothing before it is known: a reading is open, or was refused, for which the head has the reason. */
export function Read<T>({ of: { body, refusal }, children }: Pick<FrameProps<T>, 'of' | 'children'>) {
  if (body !== undefined) return <>{children(body)}</>;
  return refusal === undefined ? <Skeleton /> : null;
}

/** `beside` follows the figure, `below` and `note` stand under it. */
type Vital = Readonly<Record<'figure' | 'beside' | 'below' | 'note', Children> & { label: string }>;
type VitalsProps = Readonly<{ label: string; of: readonly Partial<Vital>[] }>;

/** What one look should tell. */
export const Vitals = ({ label, of }: VitalsProps) => (
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

type EventRowProps = Readonly<{
  at?: string;
  state?: string | undefined;
  bold: Children;
  text?: string | undefined;
  more?: string | undefined;
  children?: Children;
}>;

/** @param state of its dot @param more lines that unfold, such as a traceback */
export const EventRow = ({ at, state, bold, text, more, children }: EventRowProps) => (
  <li>
    {at !== undefined && <Time at={at} />}
    <span class={`dot is-${state}`} />
    <p>
      <strong>{bold}</strong> {text}
    </p>
    <span class="row">{children}</span>
    {more !== undefined && (
      <details>
        <summary>traceback</summary>
        <pre tabIndex={0}>{more}</pre>
      </details>
    )}
  </li>
);
