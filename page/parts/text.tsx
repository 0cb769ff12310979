/** Amounts with their basis on hover, times in the reader's zone, and commands that can be copied. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { clockText, dollarText, timeText } from '../model/format.ts';

interface UsdProps {
  readonly usd: number;
  /** How the amount was computed. */
  readonly basis: string;
  /** What it is compared with. */
  readonly beside?: number;
}

export function Usd({ usd, basis, beside = 0 }: UsdProps) {
  return (
    <span class="basis" title={basis}>
      {dollarText(usd, beside)}
    </span>
  );
}

export function Time({ at, since }: { readonly at: string; readonly since?: string }) {
  return (
    <time dateTime={at} title={at}>
      {since === undefined ? timeText(at) : clockText(at, since)}
    </time>
  );
}

export const ProblemText = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem">{children}</p>
);

/** What a list has left out, because the service cannot read it. */
export const LeftOutText = ({ why = [] }: { readonly why?: readonly string[] | undefined }) => (
  <>
    {[...new Set(why)].map((each) => (
      <ProblemText key={each}>{`left out: ${each}`}</ProblemText>
    ))}
  </>
);

/** A refusal of what the reader has just asked for; undefined: nothing was refused. */
export const RefusalText = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );

/** With the words that name the deployment, which the server of the page knows. */
const typed = (text: string): string => {
  const [, place = ''] = new RegExp(`tidewheel-${location.port}-place=([^;]*)`).exec(document.cookie) ?? [];
  return place === ''
    ? text
    : text.replace(/^npx tidewheel \S+/, (verb) => `${verb} ${decodeURIComponent(place)}`);
};

/** The command that says the same in a shell. */
export function Command({ text: bare }: { readonly text: string }) {
  const text = typed(bare);
  const said = useSignal('copy');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = 'copied';
    } catch {
      said.value = 'select it, then copy: the browser refuses';
    }
  };
  return (
    <p class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={() => void copy()} aria-label={`copy ${text}`}>
        {said.value}
      </button>
    </p>
  );
}

interface FactsProps {
  readonly items: readonly (readonly [string, ComponentChildren])[];
}
export const Facts = ({ items }: FactsProps) => (
  <dl class="facts">
    {items.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
