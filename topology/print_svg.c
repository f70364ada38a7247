// SPDX-License-Identifier: BSD-3-Clause
/* The picture as a drawing (svg_layout.h says what stands where); links between GPUs
 * are drawn below: one band where all pairs are equal, arcs where they are not. */
#include "topology/limits.h"
#include "topology/print.h"
#include "topology/svg_layout.h"
#include "topology/tier.h"

#include <string.h>
#include <strings.h>

enum { TOP = 82, BAND_H = 26, STEM = 22, NOTE_H = 17, MIN_W = 900, ARC = 90 };

static const char style[] =
    "text{font-family:'DejaVu Sans',Verdana,Arial,sans-serif;font-size:11px;"
    "fill:#263238}"
    ".h{font-size:18px;font-weight:bold}.b{font-weight:bold}.s{fill:#546e7a}"
    ".warn{fill:#b26a00}.bad{fill:#b71c1c;font-weight:bold}"
    ".k1{fill:#f5f7f9;stroke:#90a4ae}.k2{fill:#e7eef4;stroke:#90a4ae}"
    ".k3{fill:#f5f7f9;stroke:#90a4ae;stroke-dasharray:4 3}"
    ".k4{fill:#fff6da;stroke:#c9a227}"
    ".gpu{fill:#dff3dc;stroke:#2e7d32}.nic{fill:#dceafb;stroke:#1f66b0}"
    ".other{fill:#eceff1;stroke:#90a4ae}.down{fill:#fde0dc;stroke:#b71c1c}"
    ".link{stroke:#43a047;stroke-width:2;fill:none}.band{fill:#43a047}"
    ".on{fill:#ffffff;font-weight:bold;font-size:13px}";

static void put_rect(FILE *out, int x, int y, int w, int h, const char *class)
{
    fprintf(out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" "
            "class=\"%s\"/>\n",
            x, y, w, h, class);
}

/* At most `room` pixels wide, cut with an ellipsis; a character is 6.6 wide, 7.2 bold.
 * */
static void put_text(FILE *out, int x, int y, int room, const char *class,
                     const char *text)
{
    int bold = class[0] == 'b', most = room * 10 / (bold ? 76 : 68);
    char cut[256];
    size_t used = 0;
    int n = 0;
    for (const char *p = text; *p && used < sizeof cut - 8; p++) {
        if ((*p & 0xc0) != 0x80 && ++n > most)
            break;
        cut[used++] = *p;
    }
    cut[used] = '\0';
    if (n > most && used > 1) {
        while (used > 1 && (cut[used - 1] & 0xc0) == 0x80)
            used--;
        memcpy(cut + used - 1, "\xe2\x80\xa6", 4);
    }
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    fc_topo_put_xml(out, cut);
    fprintf(out, "</text>\n");
}

static void put_title(FILE *out, const char *a, const char *b)
{
    fprintf(out, "<title>");
    fc_topo_put_xml(out, a);
    putc(' ', out);
    fc_topo_put_xml(out, b);
    fprintf(out, "</title>");
}

static void put_boxes(const struct fc_layout *l, FILE *out)
{
    for (size_t i = 1; i < l->boxes; i++) {
        const struct fc_box *box = &l->box[i];
        char class[8];
        snprintf(class, sizeof class, "k%d", (int)box->kind);
        put_rect(out, box->x, box->y, box->w, box->h, class);
        put_text(out, box->x + 8, box->y + 15, box->w - 12, "b", box->title);
        put_text(out, box->x + 8, box->y + 29, box->w - 12, "s", box->detail);
    }
}

static const char *link_class(const struct fc_topo_link *link)
{
    bool slower =
        (link->max_GTps > 0 && link->GTps > 0 && link->GTps < link->max_GTps) ||
        (link->max_width > 0 && link->width > 0 && link->width < link->max_width);
    return slower ? "warn" : "s";
}

/* A product's name without its maker's, which all of them share and which would push
 * the rest out of the box. */
static const char *short_name(const char *name)
{
    static const char *const makers[] = {"NVIDIA ", "Tesla ", "AMD ", "Instinct "};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strncasecmp(name, makers[i], strlen(makers[i])) == 0)
            name += strlen(makers[i]);
    return name;
}

static void put_gpu(const struct fc_topo *topo, const struct fc_layout *l, size_t g,
                    FILE *out)
{
    const struct fc_topo_gpu *gpu = &topo->gpu[g];
    const struct fc_topo_pci *pci = &topo->pci[gpu->pci];
    int x = l->gpu[g].x, y = l->gpu[g].y, room = FC_LEAF_W - 10;
    char name[24];
    snprintf(name, sizeof name, "GPU%zu", g);
    fprintf(out, "<g>");
    put_title(out, gpu->name, gpu->uuid);
    put_rect(out, x, y, FC_LEAF_W, FC_GPU_H, "gpu");
    put_text(out, x + 6, y + 14, room, "b", name);
    put_text(out, x + 6, y + 28, room, "t", short_name(gpu->name));
    put_text(out, x + 6, y + 42, room, "s", pci->bdf);
    put_text(out, x + 6, y + 56, room, link_class(&pci->link),
             fc_topo_link_words(&pci->link).s);
    fprintf(out, "</g>\n");
}

static bool is_down(const struct fc_topo_nic *nic)
{
    bool down = nic->ports > 0;
    for (size_t i = 0; i < nic->ports; i++)
        down &= nic->port[i].state[0] && strcmp(nic->port[i].state, "ACTIVE") != 0;
    return down;
}

static void put_nic(const struct fc_topo *topo, const struct fc_layout *l, size_t n,
                    FILE *out)
{
    const struct fc_topo_nic *nic = &topo->nic[n];
    int x = l->nic[n].x, y = l->nic[n].y, room = FC_LEAF_W - 10;
    char line[64], rate[32] = "";
    struct fc_topo_words words = {""};
    if (nic->pci >= 0)
        words = fc_topo_link_words(&topo->pci[nic->pci].link);
    if (nic->Gbps > 0)
        snprintf(rate, sizeof rate, "%g Gb/s", nic->Gbps);
    if (nic->rail >= 0)
        snprintf(line, sizeof line, "rail %d", nic->rail);
    else
        snprintf(line, sizeof line, "no rail");
    if (is_down(nic) || rate[0])
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %s",
                 is_down(nic) ? "DOWN" : rate);
    fprintf(out, "<g>");
    put_title(out, nic->name, nic->pci >= 0 ? topo->pci[nic->pci].bdf : "");
    put_rect(out, x, y, FC_LEAF_W, FC_NIC_H,
             is_down(nic)                 ? "down"
             : nic->role == FC_NIC_FABRIC ? "nic"
                                          : "other");
    put_text(out, x + 6, y + 14, room, "b", nic->name);
    put_text(out, x + 6, y + 28, room, is_down(nic) ? "bad" : "t", line);
    put_text(out, x + 6, y + 42, room,
             nic->pci >= 0 ? link_class(&topo->pci[nic->pci].link) : "s", words.s);
    fprintf(out, "</g>\n");
}

static bool all_equal(const struct fc_topo *topo, bool *any)
{
    bool xgmi, equal = true;
    int first = topo->gpus > 1 ? fc_topo_links(topo, 0, 1, &xgmi) : 0;
    *any = false;
    for (size_t a = 0; a < topo->gpus; a++)
        for (size_t b = 0; b < topo->gpus; b++) {
            if (a == b)
                continue;
            int links = fc_topo_links(topo, a, b, &xgmi);
            *any |= links != 0;
            equal &= links == first;
        }
    return equal;
}

static void put_band(const struct fc_topo *topo, const struct fc_layout *l, FILE *out)
{
    int left = l->w, right = 0, y = l->h + STEM;
    char word[16], text[320];
    bool xgmi;
    (void)!fc_topo_links(topo, 0, 1, &xgmi);
    for (size_t g = 0; g < topo->gpus; g++) {
        int x = l->gpu[g].x + FC_LEAF_W / 2;
        left = x < left ? x : left;
        right = x > right ? x : right;
        fprintf(out, "<path class=\"link\" d=\"M%d %dV%d\"/>\n", x,
                l->gpu[g].y + FC_GPU_H, y);
    }
    struct fc_limit limit = fc_limit_path(topo, 0, 1);
    fc_topo_word(topo, 0, 1, word, sizeof word);
    int n = snprintf(text, sizeof text, "%s: every GPU to every other, %s",
                     xgmi ? "XGMI" : "NVLink", word);
    if (limit.GBps > 0)
        snprintf(text + n, sizeof text - (size_t)n, ", at most %g GB/s each way",
                 limit.GBps);
    put_rect(out, left - FC_LEAF_W / 2, y, right - left + FC_LEAF_W, BAND_H, "band");
    put_text(out, left - FC_LEAF_W / 2 + 12, y + 18, right - left + FC_LEAF_W, "on",
             text);
}

/* Where the arc between two GPUs is lowest: the wider apart they are, the deeper, and
 * neighbours' arcs of one span apart from each other, for the sake of their labels. */
static int arc_depth(const struct fc_layout *l, size_t a, size_t b)
{
    int span = l->gpu[b].x - l->gpu[a].x, all = l->w > 0 ? l->w : 1;
    return l->h + 18 + ARC * (span < 0 ? -span : span) / all + (int)(a % 4) * 15;
}

static void put_arcs(const struct fc_topo *topo, const struct fc_layout *l, bool labels,
                     FILE *out)
{
    for (size_t a = 0; a < topo->gpus; a++)
        for (size_t b = a + 1; b < topo->gpus; b++) {
            bool xgmi;
            char word[16];
            int links = fc_topo_links(topo, a, b, &xgmi);
            if (links == 0)
                continue;
            int x1 = l->gpu[a].x + FC_LEAF_W / 2, y1 = l->gpu[a].y + FC_GPU_H;
            int x2 = l->gpu[b].x + FC_LEAF_W / 2, y2 = l->gpu[b].y + FC_GPU_H;
            int deep = arc_depth(l, a, b), middle = (x1 + x2) / 2;
            /* a cubic reaches three quarters of the way to its control points */
            int control = deep + (deep - (y1 > y2 ? y1 : y2)) / 3;
            fc_topo_word(topo, a, b, word, sizeof word);
            int width = (int)strlen(word) * 8 + 4;
            if (labels) {
                fprintf(out,
                        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"14\" "
                        "fill=\"#fff\"/>\n",
                        middle - width / 2, deep - 8, width);
                put_text(out, middle - width / 2 + 2, deep + 3, 99, "b", word);
                continue;
            }
            fprintf(out,
                    "<path class=\"link\" style=\"stroke-width:%d\" "
                    "d=\"M%d %dC%d %d %d %d %d %d\"/>\n",
                    links > 8   ? 5
                    : links > 2 ? 3
                                : 1,
                    x1, y1, x1, control, x2, control, x2, y2);
        }
}

static int links_height(const struct fc_topo *topo, const struct fc_layout *l)
{
    bool any, xgmi, equal = all_equal(topo, &any);
    int lowest = l->h;
    for (size_t a = 0; any && !equal && a < topo->gpus; a++)
        for (size_t b = a + 1; b < topo->gpus; b++)
            if (fc_topo_links(topo, a, b, &xgmi) != 0 && arc_depth(l, a, b) > lowest)
                lowest = arc_depth(l, a, b);
    return !any ? 0 : equal ? STEM + BAND_H : lowest + 10 - l->h;
}

static void put_links(const struct fc_topo *topo, const struct fc_layout *l, FILE *out)
{
    bool any, equal = all_equal(topo, &any);
    if (any && equal) {
        put_band(topo, l, out);
    } else if (any) {
        put_arcs(topo, l, false, out);
        put_arcs(topo, l, true, out);
    }
}

static void put_legend(FILE *out, int y)
{
    static const struct {
        const char *class, *text;
    } items[] = {{"gpu", "GPU"},
                 {"nic", "NIC of the fabric"},
                 {"other", "other NIC"},
                 {"down", "NIC that is down"},
                 {"k4", "PCIe switch"}};
    int x = FC_BOX_PAD;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        put_rect(out, x, y - 11, 14, 14, items[i].class);
        put_text(out, x + 20, y, 200, "t", items[i].text);
        x += 46 + 13 * (int)strlen(items[i].text) / 2;
    }
    put_text(out, FC_BOX_PAD, y + NOTE_H, 1200, "s",
             "In one switch: PIX.  In nested switches: PXB.  In one NUMA node: PHB or "
             "NODE.  Else: SYS.");
}

/* What the node is for, in the parts that are known. */
static void put_tier(const struct fc_topo *topo, int w, FILE *out)
{
    struct fc_tier tier = fc_tier_of(topo);
    const char *const parts[] = {tier.isolation, tier.inside, tier.outside};
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i], "unknown") != 0 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ";  " : "", parts[i]);
    put_text(out, FC_BOX_PAD, 64, w, "s", text);
}

static void put_head(const struct fc_topo *topo, int w, FILE *out)
{
    const char *last = strrchr(topo->source, '/');
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", topo->host_name[0] ? topo->host_name : "node",
             topo->machine[0] ? ", " : "", topo->machine);
    put_text(out, FC_BOX_PAD, 26, w * 2 / 3, "h", text);
    snprintf(text, sizeof text,
             "packages %s, NUMA nodes %s, cores %s, hardware threads %s, GPUs %s, NICs "
             "%s (%s: %.120s)",
             fc_topo_count_words(topo->packages_n).s,
             fc_topo_count_words(topo->numa_n).s, fc_topo_count_words(topo->cores).s,
             fc_topo_count_words(topo->pus).s,
             fc_topo_count_words(fc_topo_gpu_count(topo)).s,
             fc_topo_count_words(fc_topo_nic_count(topo)).s,
             fc_topo_kind_name(topo->kind), last && last[1] ? last + 1 : topo->source);
    put_text(out, FC_BOX_PAD, 46, w, "s", text);
    put_tier(topo, w, out);
}

enum fc_status fc_topo_print_svg(const struct fc_topo *topo, FILE *out,
                                 struct fc_error *err)
{
    struct fc_layout l;
    if (!fc_layout_open(topo, TOP, &l))
        return fc_fail(err, FC_NOMEM, "svg: out of memory");
    int notes = l.h + links_height(topo, &l) + 30;
    int w = l.w > MIN_W ? l.w : MIN_W;
    int h = notes + NOTE_H * (2 + (int)topo->notes) + 4;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n<style>%s</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            w, h, w, h, style, w, h);
    put_head(topo, w - 2 * FC_BOX_PAD, out);
    put_boxes(&l, out);
    put_links(topo, &l, out);
    for (size_t i = 0; i < topo->nics; i++)
        put_nic(topo, &l, i, out);
    for (size_t i = 0; i < topo->gpus; i++)
        put_gpu(topo, &l, i, out);
    put_legend(out, notes);
    for (size_t i = 0; i < topo->notes; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s: %s", topo->note[i].odd ? "odd" : "unknown",
                 topo->note[i].text);
        put_text(out, FC_BOX_PAD, notes + NOTE_H * (2 + (int)i), w,
                 topo->note[i].odd ? "warn" : "s", text);
    }
    fprintf(out, "</svg>\n");
    fc_layout_close(&l);
    return FC_OK;
}
