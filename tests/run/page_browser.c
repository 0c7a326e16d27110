/* The page of a run in a browser: headless Chromium, where it is installed, at the widths of a desk and of a
 * phone, in light and dark. A script of the test's own, put into the page, does what a reader does, and
 * reports in words. */
#include "folder.h"
#include "page_helpers.h"
#include "test.h"

/* Does a reader's actions, and calls `say` with each fault. */
static const char reader[] =
    "<script>addEventListener('load', () => {\n"
    "const faults = [], say = (ok, what) => { if (!ok) faults.push(what); };\n"
    "const one = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];\n"
    "const root = document.documentElement, slider = one('#step'), heads = all('.example:not([hidden]) "
    ".head');\n"
    "const cells = heads[0].querySelectorAll('td'), row = () => [...cells].slice(5, 10).map(c => "
    "c.textContent + (c.style.getPropertyValue('--w') || 0)).join(' ');\n"
    "say(root.scrollWidth <= root.clientWidth, 'wider than the window: ' + root.scrollWidth);\n"
    "say(!one('#controls').hidden, 'no controls');\n"
    "say(one('#choose').parentElement.offsetHeight < 60, 'the choice of an example is broken');\n"
    "say(heads.length === 18, heads.length + ' heads are shown');\n"
    "say(row() === '.000 .000 1.01 .000 .000', 'the last step: ' + row());\n"
    "slider.value = 0; slider.dispatchEvent(new Event('input'));\n"
    "say(one('#said').textContent === 'step 100', 'the slider says ' + one('#said').textContent);\n"
    "say(row() === '1.01 .000 .000 .000 .000', 'the first step: ' + row());\n"
    "const table = heads[1].querySelector('table'), small = table.getBoundingClientRect();\n"
    "heads[1].focus();\n"
    "const box = table.getBoundingClientRect();\n"
    "say(box.width > 1.5 * small.width && parseFloat(getComputedStyle(table.querySelector('td')).fontSize) > "
    "5,\n"
    "    'not large with the focus');\n"
    "say(box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight, 'large is "
    "cut off');\n"
    "heads[1].blur();\n"
    "for (const svg of all('.curves svg, .example:not([hidden]) .head table')) {\n"
    "  const r = svg.getBoundingClientRect();\n"
    "  say(r.left >= 0 && r.right <= innerWidth && r.width > 50, 'a picture from ' + r.left + ' to ' + "
    "r.right);\n"
    "}\n"
    "for (const x of all('.turned tr:first-child span')) {\n" /* ideographs stand upright */
    "  const style = getComputedStyle(x);\n"
    "  say(style.writingMode === 'vertical-rl' && style.textOrientation === 'mixed' && style.transform === "
    "'none' && style.rotate === 'none',\n"
    "      'a turned label: ' + style.transform);\n"
    "}\n"
    "for (const label of all('.curves text')) {\n"
    "  const svg = label.ownerSVGElement.getBoundingClientRect(), r = label.getBoundingClientRect();\n"
    "  say(r.left >= svg.left && r.right <= svg.right, 'a label is cut off: ' + label.textContent);\n"
    "}\n"
    "for (const count of all('.answers .faint'))\n"
    "  say(count.getClientRects().length === 1, 'a text tears apart ' + count.textContent);\n"
    "one('#choose').value = 1; one('#choose').dispatchEvent(new Event('change'));\n"
    "say(all('.example')[0].hidden && !all('.example')[1].hidden, 'the other example is not shown');\n"
    "one('#controls').hidden = true;\n"
    "say(getComputedStyle(one('#controls')).display === 'none', 'controls that do nothing without a "
    "script');\n"
    "const dark = matchMedia('(prefers-color-scheme: dark)').matches;\n"
    "const paper = getComputedStyle(document.body).backgroundColor;\n"
    "say(paper === (dark ? 'rgb(22, 24, 28)' : 'rgb(255, 255, 255)'), 'paper of ' + paper);\n"
    "for (const rule of document.styleSheets[0].cssRules)\n" /* as on paper */
    "  if (rule.media && rule.media.mediaText === 'print') rule.media.mediaText = 'all';\n"
    "const shown = x => getComputedStyle(x).display !== 'none';\n"
    "say(all('.example').every(shown) && all('.head').length === 36, 'an example is not printed');\n"
    "say(!all('.controls, .screen').some(shown), 'what only a screen can do is printed');\n"
    "say(root.scrollWidth <= root.clientWidth, 'printed wider than the paper: ' + root.scrollWidth);\n"
    "for (const svg of all('.curves svg, .head table'))\n"
    "  say(svg.getBoundingClientRect().right <= innerWidth, 'a picture is cut off on paper');\n"
    "parent.postMessage('seen ' + innerWidth + (dark ? ' dark' : ' light') + ': ' + (faults.join('; ') || "
    "'well'), '*');\n"
    "});</script>\n";

/* Writes the page, with the reader's script, and another that shows it in a frame of this width and collects its faults. */
static void write_files(const char *const *token, int width) {
    SamplePage s;
    Error e = {0};
    char *text = NULL;
    size_t size;
    sample_page(&s, token);
    for (int k = 0; k < SAMPLE_FRAMES; k++) s.loss[k] *= 5e4; /* with labels of six digits */
    CHECK(page_write(&s.page, in_folder("page.html"), &e) &&
              file_read(in_folder("page.html"), 0, &text, &size, &e),
          "%s", e.text);
    FILE *f = fopen(in_folder("page.html"), "w");
    char *end = strstr(text, "</body>");
    fprintf(f, "%.*s%s%s", (int)(end - text), text, reader, end);
    fclose(f);
    free(text), frames_free(&s.frames);
    f = fopen(in_folder("frame.html"), "w");
    fprintf(f,
            "<body><iframe src=\"page.html\" style=\"border:0\" width=\"%d\" "
            "height=\"800\"></iframe><script>addEventListener('message', m => { "
            "document.body.append(m.data); })</script>",
            width);
    fclose(f);
}

/* The page's title, which lists the faults, and the console's output. */
static void browse(const char *const *token, int width, bool dark, const char *want) {
    char command[1024], line[4096];
    bool found = false;
    make_folder();
    write_files(token, width);
    snprintf(command, sizeof command,
             "timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s/profile "
             "--window-size=1400,900 --virtual-time-budget=5000 --enable-logging=stderr %s --dump-dom "
             "file://%s/frame.html 2>&1",
             folder, dark ? "--force-dark-mode" : "", folder);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        CHECK(!strstr(line, "CONSOLE"), "%s", line);
        char *said = strstr(line, "seen ");
        if (!said) continue;
        found = true;
        CHECK(strncmp(said, want, strlen(want)) == 0, "found %s", said);
    }
    if (f) pclose(f);
    CHECK(found, "the page said nothing");
}

TEST(a_page_at_a_desk) {
    browse(HARMLESS, 1280, false, "seen 1280 light: well");
}

TEST(a_page_on_a_phone) {
    browse(HARMLESS, 390, false, "seen 390 light: well");
}

TEST(a_page_in_the_dark) {
    browse(HARMLESS, 1280, true, "seen 1280 dark: well");
}

/* No text is run as a script. */
TEST(a_page_of_hostile_texts) {
    browse(HOSTILE, 390, false, "seen 390 light: well");
}

/* A text without a blank, and labels that are turned. */
TEST(a_page_of_long_words) {
    static const char gene[] = "ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCA";
    static const char *const token[] = {gene, "花草木", gene, gene, "\xE8\x8A"};
    browse(token, 390, false, "seen 390 light: well");
    browse(token, 1280, false, "seen 1280 light: well");
}

/* Tokens that are read from right to left. */
TEST(a_page_of_hebrew) {
    static const char *const token[] = {"ש", "לו", "ם.", " ", "ה"};
    browse(token, 1280, false, "seen 1280 light: well");
}

int main(int argc, char **argv) {
    if (system("command -v chromium >/dev/null") != 0) {
        printf("skip %s: there is no chromium\n", argv[0]);
        return 0;
    }
    return test_main(argc, argv);
}
