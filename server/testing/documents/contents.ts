/** The line by which a long page names its sections, each a link. */

const linesWithout = 200;

/** The line for a page; undefined for a short one, and where it links to every section anyhow. */
export function contentsOf(page: string): string | undefined {
  if (page.split('\n').length <= linesWithout) return undefined;
  const titles = [...withoutBlocks(page).matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
  if (titles.length < 2 || titles.every(title => page.includes(`| ${linkTo(title)} |`))) {
    return undefined;
  }
  return `On this page: ${titles.map(linkTo).join(', ')}.`;
}

/** A link to a heading of the same page. */
export function linkTo(title: string): string {
  const anchor = title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
  return `[${title}](#${anchor})`;
}

/** A comment in a block of shell looks like a heading. */
function withoutBlocks(page: string): string {
  return page.replaceAll(/^```[^]*?^```$/gm, '');
}
