/** Words and amounts, with their basis on hover, and commands that can be copied. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { shortName, shortNumber, timeText, whenText } from '../model/format.ts';
import { decidedText, type ModelView } from '../model/lineage.ts';
import { address, hrefOf, type Query } from '../state/address.ts';

/** @param of how it was computed */
export const Basis = ({ of, children }: Readonly<{ of: string; children: ComponentChildren }>) => (
  <span class="basis" title={of}>
    {children}
  </span>
);

/** The time of day, or the date where it is another day; the whole on hover. */
export const Time = ({ at }: { readonly at: string | number }) => (
  <time dateTime={new Date(at).toISOString()} title={timeText(at)}>
    {whenText(at)}
  </time>
);

export type RowLinkProps = Readonly<{
  name: string;
  href: string;
  id?: string;
  'aria-current'?: true | undefined;
}>;

/** A link of a row, which the keys j and k reach. */
export const RowLink = ({ name, ...link }: RowLinkProps) => (
  <a class="whole" title={name} data-row {...link}>
    {shortName(name)}
  </a>
);

export const RunLink = ({ runId }: { readonly runId: string }) => (
  <RowLink name={runId} href={hrefOf(['runs', runId])} id={`link-${runId}`} />
);

type LinkButtonProps = Readonly<{ text: string; to: readonly string[]; query?: Query }>;

/** Looks like a button, and leads to another screen. */
export const LinkButton = ({ text, to, query }: LinkButtonProps) => (
  <a class="button" href={hrefOf(to, query)}>
    {text}
  </a>
);

type ModelLinkProps = Readonly<{
  model: Pick<ModelView, 'runId' | 'judged'>;
  metric?: Readonly<{ name: string; value: number | null }> | undefined;
}>;

/** Leads to the run of a model. @param metric that its training measured, where it has no scores */
export function ModelLink({ model: { runId, judged }, metric }: ModelLinkProps) {
  const { metric: name = metric?.name, mean: value = metric?.value } = judged ?? {};
  return (
    <>
      <RunLink runId={runId} />
      {typeof value === 'number' && <small>{`${name} ${shortNumber(value)}`}</small>}
    </>
  );
}

/** Who decided and why; the whole reason on hover. */
export const Decided = ({ model }: Readonly<{ model: ModelView }>) => (
  <span class="clip" title={model.reason}>
    {decidedText(model)}
  </span>
);

export const Pill = ({ status }: { readonly status: string }) => (
  <span class={`pill is-${status}`}>
    <span class="dot" />
    {status}
  </span>
);

export const RunState = ({ runId, status }: Readonly<Record<'runId' | 'status', string>>) => (
  <span class="row">
    <RunLink runId={runId} />
    <Pill status={status} />
  </span>
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

/** The command that says the same in a shell. @param of its words after `tidewheel` */
export function Command({ of }: { readonly of: string }) {
  const [verb = '', ...words] = of.split(' ');
  return (
    <Copied text={['npx --no-install tidewheel', verb, deployment(), ...words].filter(Boolean).join(' ')} />
  );
}

/** What is pasted elsewhere. */
export function Copied({ text }: { readonly text: string }) {
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
    <p class="row quiet">
      <code class="raised">{text}</code>
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

type Tab = readonly [text: string, path: readonly string[], query?: Query];

export const Tabs = ({ label, tabs }: Readonly<{ label: string; tabs: readonly Tab[] }>) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(([text, path, query]) => {
      const isHere = path.join('/') === address.value.path.join('/');
      return (
        <a key={text} href={hrefOf(path, query)} aria-current={isHere ? 'page' : undefined}>
          {text}
        </a>
      );
    })}
  </nav>
);
