/** The card, what stands in its place while nothing is known, a vital figure, and the row of an event. */
import type { ComponentChildren } from 'preact';
import { Time } from './text.tsx';

type Children = ComponentChildren;

/** A heading over cards. */
export const Section = (
  props: Readonly<{ title: string; note?: Children; tools?: Children; children: Children }>,
) => (
  <section class="section" aria-label={props.title}>
    <div class="head">
      <h2>{props.title}</h2>
      {props.note !== undefined && <span class="quiet">{props.note}</span>}
      {props.tools !== undefined && <span class="tools">{props.tools}</span>}
    </div>
    {props.children}
  </section>
);

/** The head of a screen. */
export const Head = ({ title, children }: Readonly<{ title: string; children?: Children }>) => (
  <div class="head">
    <h1>{title}</h1>
    {children !== undefined && <span class="tools">{children}</span>}
  </div>
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

/** Says nothing before it is known: a reading is open, or was refused, for which the head has the reason. */
export function Read<T>({
  of: { body, refusal },
  children,
}: Readonly<{
  of: Readonly<{ body: T | undefined; refusal: string | undefined }>;
  children: (body: T) => Children;
}>) {
  if (body !== undefined) return <>{children(body)}</>;
  return refusal === undefined ? <Skeleton /> : null;
}

/** One of a row of four. @param beside follows the figure, `note` stands below it */
export const Vital = (
  props: Readonly<{
    label: string;
    figure: Children;
    beside?: Children;
    note?: Children;
    children?: Children;
  }>,
) => (
  <div>
    <p class="label">{props.label}</p>
    <b>{props.figure}</b>
    <span class="quiet">{props.beside}</span>
    {props.children}
    <p class="quiet">{props.note}</p>
  </div>
);

/** @param state of its dot @param more lines that unfold, such as a traceback */
export const EventRow = (
  props: Readonly<{
    at?: string;
    state?: string | undefined;
    bold: Children;
    text: string;
    more?: string | undefined;
    children?: Children;
  }>,
) => (
  <li>
    {props.at !== undefined && <Time at={props.at} />}
    <span class={`dot is-${props.state}`} />
    <p>
      <strong>{props.bold}</strong> {props.text}
    </p>
    {props.children !== undefined && <span class="tools">{props.children}</span>}
    {props.more !== undefined && (
      <details>
        <summary>traceback</summary>
        <pre tabIndex={0}>{props.more}</pre>
      </details>
    )}
  </li>
);
