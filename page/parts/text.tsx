/** Words and amounts, with their basis on hover, and commands that can be copied. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { dollarText, shortName, timeText, whenText } from '../model/format.ts';
import { address, hrefOf } from '../state/address.ts';

/** @param of how it was computed */
export const Basis = ({ of, children }: Readonly<{ of: string; children: ComponentChildren }>) => (
  <span class="basis" title={of}>
    {children}
  </span>
);

/** @param basis how it was computed @param beside what it is compared with */
export const Usd = ({
  usd,
  basis,
  beside = 0,
}: Readonly<{ usd: number; basis: string; beside?: number | undefined }>) => (
  <Basis of={basis}>{dollarText(usd, beside)}</Basis>
);

/** The time of day, or the date where it is another day; the whole on hover. */
export const Time = ({ at }: { readonly at: string | number }) => (
  <time dateTime={new Date(at).toISOString()} title={timeText(at)}>
    {whenText(at)}
  </time>
);

/** A link to a run, which the keys j and k reach. */
export const RunLink = ({ runId }: { readonly runId: string }) => (
  <a class="run-id" href={hrefOf(['runs', runId])} id={`link-${runId}`} title={runId} data-row>
    {shortName(runId)}
  </a>
);

export const Pill = ({ status }: { readonly status: string }) => (
  <span class={`pill is-${status}`}>
    <span class="dot" />
    {status}
  </span>
);

/** What a list has left out, because the service cannot read it. */
export const LeftOutText = ({ why = [] }: { readonly why?: readonly string[] | undefined }) => (
  <>
    {[...new Set(why)].map((each) => (
      <p key={each} class="problem">{`left out: ${each}`}</p>
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
export const deployment = (): string => {
  const [, place = ''] = new RegExp(`tidewheel-${location.port}-place=([^;]*)`).exec(document.cookie) ?? [];
  return decodeURIComponent(place);
};

const typed = (text: string): string =>
  deployment() === '' ? text : text.replace(/^npx tidewheel \S+/, (verb) => `${verb} ${deployment()}`);

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
      <button type="button" class="plain" onClick={() => void copy()} aria-label={`copy ${text}`}>
        {said.value}
      </button>
    </p>
  );
}

/** @param items those without a value are left out */
export const Facts = ({ items }: Readonly<{ items: readonly (readonly [string, ComponentChildren])[] }>) => (
  <dl class="facts">
    {items
      .filter(([, value]) => value)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

const PIPELINE_TABS = ['Runs', 'Data', 'Probes'] as const;

/** Links between the screens of a pipeline. */
export const PipelineTabs = ({ pipeline }: { readonly pipeline: string }) => (
  <nav class="tabs" aria-label={`of ${pipeline}`}>
    {PIPELINE_TABS.map((text) => {
      const tab = text === 'Runs' ? [] : [text.toLowerCase()];
      const isHere = address.value.path[2] === tab[0];
      return (
        <a
          key={text}
          href={hrefOf(['pipelines', pipeline, ...tab])}
          aria-current={isHere ? 'page' : undefined}
        >
          {text}
        </a>
      );
    })}
  </nav>
);
