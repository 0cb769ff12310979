/** The screen, the card and what stands in its place while nothing is known, a vital figure, and the row of an event. */
import type { ComponentChildren } from 'preact';
import { Command, PipelineTabs, Time } from './text.tsx';

type Children = ComponentChildren;
type Reading<T> = Readonly<{ body: T | undefined; refusal: string | undefined }>;

/** `pipeline` has tabs; `leftOut` says what the service cannot read. */
type FrameProps<T> = Readonly<{
  title: string;
  pipeline?: string | undefined;
  tools?: Children;
  leftOut?: readonly string[] | undefined;
  of: Reading<T>;
  command: string;
  children: (body: T) => Children;
}>;

/** @param command says the same in a shell */
export const Frame = <T,>({ title, pipeline, tools, leftOut, of, command, children }: FrameProps<T>) => (
  <>
    <div class="head">
      <h1>{title}</h1>
      <span class="tools">{tools}</span>
    </div>
    {pipeline !== undefined && <PipelineTabs pipeline={pipeline} />}
    {[...new Set(leftOut)].map((each) => (
      <p key={each} class="problem">{`left out: ${each}`}</p>
    ))}
    <Read of={of}>{children}</Read>
    <Command text={`npx --no-install tidewheel ${command}`} />
  </>
);

export type SectionProps = Readonly<{ title: string; note?: Children; tools?: Children }>;

/** A heading over cards. */
export const Section = (props: SectionProps & Readonly<{ children: Children }>) => (
  <section class="section" aria-label={props.title}>
    <div class="head">
      <h2>{props.title}</h2>
      <span class="quiet">{props.note}</span>
      <span class="tools">{props.tools}</span>
    </div>
    {props.children}
  </section>
);

/** Nothing is there, which is known. */
export const Empty = ({ children }: Readonly<{ children: Children }>) => (
  <div class="card empty">{children}</div>
);

export const Skeleton = ({ rows = 6 }: Readonly<{ rows?: number }>) => (
  <div class="card" role="status" aria-label="Reading the API">
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} class="bone" style={{ width: `${86 - ((row * 29) % 45)}%` }} />
    ))}
  </div>
);

type ReadProps<T> = Readonly<{ of: Reading<T>; children: (body: T) => Children }>;

/** Says nothing before it is known: a reading is open, or was refused, for which the head has the reason. */
export function Read<T>({ of: { body, refusal }, children }: ReadProps<T>) {
  if (body !== undefined) return <>{children(body)}</>;
  return refusal === undefined ? <Skeleton /> : null;
}

/** `beside` follows the figure, `below` and `note` stand under it. */
type Vital = Readonly<{
  label: string;
  figure: Children;
  beside?: Children;
  below?: Children;
  note?: Children;
}>;
type VitalsProps = Readonly<{ label: string; of: readonly Vital[] }>;

/** What one look should tell. */
export const Vitals = ({ label, of }: VitalsProps) => (
  <section class="card vitals" aria-label={label}>
    {of.map((vital, place) => (
      <div key={place}>
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
    {children !== undefined && <span class="tools">{children}</span>}
    {more !== undefined && (
      <details>
        <summary>traceback</summary>
        <pre tabIndex={0}>{more}</pre>
      </details>
    )}
  </li>
);
