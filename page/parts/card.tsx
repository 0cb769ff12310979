/** The card, what stands in its place while nothing is known, and the row of an event. */
import type { ComponentChildren } from 'preact';
import type { PageReading } from '../state/readings.ts';
import { Time } from './text.tsx';

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A heading over cards. */
export const Section = ({ title, note, tools, children }: SectionProps) => (
  <section class="section" aria-label={title}>
    <div class="head">
      <h2>{title}</h2>
      {note !== undefined && <span class="quiet">{note}</span>}
      {tools !== undefined && <span class="tools">{tools}</span>}
    </div>
    {children}
  </section>
);

/** The head of a screen. */
export const Head = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) => (
  <div class="head">
    <h1>{title}</h1>
    {children !== undefined && <span class="tools">{children}</span>}
  </div>
);

/** Nothing is there, which is known. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="card empty">{children}</div>
);

export const Skeleton = ({ rows = 4 }: { readonly rows?: number }) => (
  <div class="card" role="status" aria-label="Reading the API">
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} class="bone" style={{ width: `${86 - ((row * 29) % 45)}%` }} />
    ))}
  </div>
);

interface ReadProps<T> {
  readonly of: Pick<PageReading<T>, 'body' | 'refusal'>;
  readonly rows?: number;
  readonly children: (body: T) => ComponentChildren;
}

/** Says nothing before it is known: a reading is open, or was refused, for which the head has the reason. */
export const Read = <T,>({ of: { body, refusal }, rows, children }: ReadProps<T>) =>
  body !== undefined ? <>{children(body)}</> : refusal === undefined ? <Skeleton rows={rows ?? 4} /> : null;

interface EventProps {
  readonly at?: string | undefined;
  /** Of its dot. */
  readonly state?: string | undefined;
  readonly bold: ComponentChildren;
  readonly text: string;
  /** Lines that unfold, such as a traceback. */
  readonly more?: string | undefined;
  readonly children?: ComponentChildren;
}

/** A time, a dot, a bold word, a sentence; what leads on stands at its end. */
export const EventRow = ({ at, state, bold, text, more, children }: EventProps) => (
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
