/* Entry points of the module in double precision that follow a model: the walk of ./explain. */
#include "explain/walk.h"
#include "web/web.h"

/* Prints the walk through the text in the file `text` and the model in the directory `saved`, one JSON object a line. */
WEB_EXPORT(void, walk, (int side, int layer, int head)) {
    WalkOptions o = {.text = web_file_data("text"), .model = "saved", .side = (Side)side, .side_given = true};
    o.layer = layer, o.head = head, o.json = o.operands = true;
    explain_walk(&o, &web_error);
}
